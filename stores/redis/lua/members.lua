-- A page of a thread's ids, newest first: ARGV is thread, upper and lower bound as ZREVRANGEBYLEX
-- takes them, how many. A thread that is not whole has none.
local k = keys_of(ARGV[1])
if not is_whole(k) then return {} end
return redis.call('ZREVRANGEBYLEX', k[3], ARGV[2], ARGV[3], 'LIMIT', 0, ARGV[4])
