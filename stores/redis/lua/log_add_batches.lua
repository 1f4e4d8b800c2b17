-- Records batches of a plan; 0 where it is not ours. ARGV: run, token, end of the lease, number of
-- the first, then of each its kind, source run and number (or none), candidates, how many they are.
local run, n = ARGV[1], tonumber(ARGV[4])
if not plans(run, ARGV[2]) then return 0 end
writes()
redis.call('HSET', run_key(run), 'lease', ARGV[3])
for i = 5, #ARGV, 5 do
  local batch = batch_key(run, n)
  if redis.call('EXISTS', batch) == 0 then
    redis.call('HSET', batch, 'kind', ARGV[i], 'candidates', ARGV[i + 3], 'outcomes', '[]',
      'counts', '{}', 'deleted', 0, 'attempts', 0, 'checks', 0)
    if ARGV[i + 1] ~= '' then
      redis.call('HSET', batch, 'source_run', ARGV[i + 1], 'source_number', ARGV[i + 2])
    end
    redis.call('ZADD', open_key(run), 0, n)
    redis.call('HINCRBY', run_key(run), 'planned', ARGV[i + 4])
    redis.call('HSET', run_key(run), 'batches', n + 1)
  end
  n = n + 1
end
return 1
