-- Kind and counts of each batch of a run from a number on. ARGV: run, number, how many at most.
local found = {}
local count = tonumber(redis.call('HGET', run_key(ARGV[1]), 'batches') or 0)
for n = tonumber(ARGV[2]), math.min(count, ARGV[2] + ARGV[3]) - 1 do
  found[#found + 1] = redis.call('HMGET', batch_key(ARGV[1], n), 'kind', 'counts')
end
return found
