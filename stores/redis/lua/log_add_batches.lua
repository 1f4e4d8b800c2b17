-- Renews a run that is planned, and records a batch of its plan; 0 where it is not ours.
-- ARGV: run, token, end of the lease, and unless there is none the batch's number, kind, source run
-- and number (or none), candidates, and how many they are.
local run, n = ARGV[1], ARGV[4]
if not plans(run, ARGV[2]) then return 0 end
writes()
redis.call('HSET', run_key(run), 'lease', ARGV[3])
if not n then return 1 end
local batch = batch_key(run, n)
if redis.call('EXISTS', batch) == 0 then
  redis.call('HSET', batch, 'kind', ARGV[5], 'candidates', ARGV[8], 'outcomes', '[]',
    'counts', '{}', 'deleted', 0, 'attempts', 0, 'checks', 0)
  if ARGV[6] ~= '' then
    redis.call('HSET', batch, 'source_run', ARGV[6], 'source_number', ARGV[7])
  end
  redis.call('ZADD', open_key(run), 0, n)
  redis.call('HINCRBY', run_key(run), 'planned', ARGV[9])
  redis.call('HSET', run_key(run), 'batches', n + 1)
end
return 1
