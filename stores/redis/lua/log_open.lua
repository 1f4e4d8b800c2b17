-- Opens a run; 0 where another one is live, or this one was opened before.
-- ARGV: run, token, waiting and finished minutes, whether above the limits, start, its negative
-- (so that the newest comes first, and of one instant the lowest id), end of the lease.
local run = ARGV[1]
if plans(run, ARGV[2]) then return 1 end
if redis.call('EXISTS', LIVE, run_key(run)) > 0 then return 0 end
writes()
redis.call('SET', LIVE, run)
redis.call('HSET', run_key(run), 'state', 'planning', 'token', ARGV[2], 'waiting', ARGV[3],
  'finished', ARGV[4], 'allow', ARGV[5], 'started', ARGV[6], 'lease', ARGV[8], 'planned', 0,
  'counts', '{}', 'batches', 0, 'tombs', 0)
redis.call('ZADD', RUNS, ARGV[7], run)
return 1
