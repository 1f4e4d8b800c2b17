-- Stops a run; -1 where it is not live, else how many batches that nobody works on are left to be
-- ended: it is called again until none is. ARGV: run, outcome, reason, now.
local run, now = ARGV[1], ARGV[4]
if redis.call('GET', LIVE) ~= run then return -1 end
writes()
redis.call('HSET', run_key(run), 'state', 'stopping')
-- The first outcome and reason stay: they say why the run stopped.
redis.call('HSETNX', run_key(run), 'outcome', ARGV[2])
redis.call('HSETNX', run_key(run), 'reason', ARGV[3])
for _, n in ipairs(redis.call('ZRANGEBYSCORE', open_key(run), '-inf', '(' .. now, 'LIMIT', 0, 1000)) do
  redis.call('HDEL', batch_key(run, n), 'token')
  -- Whether hooks are on is not known here: where none is, the next tick clears the debt.
  end_batch(run, n, now, true)
  if redis.call('HGET', batch_key(run, n), 'attempts') ~= '0' then
    redis.call('SADD', lost_key(run), n)
  end
end
return redis.call('ZCOUNT', open_key(run), '-inf', '(' .. now)
