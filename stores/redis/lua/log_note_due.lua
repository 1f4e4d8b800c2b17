-- Keeps what a plan found; 0 where it is not ours.
-- ARGV: run, token, end of the lease, then series and values.
if not plans(ARGV[1], ARGV[2]) then return 0 end
writes()
redis.call('HSET', run_key(ARGV[1]), 'lease', ARGV[3])
if #ARGV > 3 then redis.call('HSET', TOTALS, unpack(ARGV, 4)) end
return 1
