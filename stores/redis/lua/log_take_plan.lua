-- Takes over a plan that stopped; -1 where it did not, else how many batches are left to drop: it is
-- called again until none is. ARGV: run, token, now, end of the lease.
local run, known = ARGV[1], redis.call('HMGET', run_key(ARGV[1]), 'state', 'lease', 'token')
if redis.call('GET', LIVE) ~= run or known[1] ~= 'planning' then return -1 end
if known[3] ~= ARGV[2] and tonumber(known[2]) >= tonumber(ARGV[3]) then return -1 end
writes()
redis.call('HSET', run_key(run), 'token', ARGV[2], 'lease', ARGV[4], 'planned', 0)
redis.call('UNLINK', open_key(run))
return drop_batches(run, 1000)
