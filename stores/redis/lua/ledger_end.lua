-- Ends a thread that is as it was judged; 0 where it has changed.
-- ARGV: thread, its revision then, the instant, when the mark is due, who, why.
local id = ARGV[1]
local k = keys_of(id)
local known = redis.call('HMGET', k[1], 'ea', 'eb', 'er', 'rev')
-- So it was this very call, whose answer was lost.
if known[1] == ARGV[3] and known[2] == ARGV[5] and known[3] == ARGV[6] then return 1 end
if (known[4] or '') ~= ARGV[2] or not is_whole(k) then return 0 end
redis.call('UNLINK', BUCKET .. 'nothing')
redis.call('HDEL', k[1], 'ow')
redis.call('HSET', k[1], 'mk', ARGV[3], 'due', ARGV[4], 'ea', ARGV[3], 'eb', ARGV[5], 'er', ARGV[6])
redis.call('ZADD', MARKS, ARGV[4], id)
resealed(k)
return 1
