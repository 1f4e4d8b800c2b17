-- Lets batches be claimed; 0 where the plan is not ours. ARGV: run, token, end of the lease.
local run = ARGV[1]
local known = redis.call('HMGET', run_key(run), 'state', 'token')
if redis.call('GET', LIVE) ~= run or known[2] ~= ARGV[2] then return 0 end
-- Planned already by the same call, whose answer was lost.
if known[1] == 'sweeping' then return 1 end
if known[1] ~= 'planning' then return 0 end
writes()
redis.call('HSET', run_key(run), 'state', 'sweeping', 'lease', ARGV[3])
return 1
