-- How much each key of a thread holds, and whether each index of its bucket names it: 1 or 0.
-- ARGV: thread.
local id = ARGV[1]
local k = keys_of(id)
local counts = { redis.call('HLEN', k[1]), redis.call('HLEN', k[2]), redis.call('ZCARD', k[3]),
  redis.call('HLEN', k[4]), redis.call('HLEN', k[5]) }
for _, index in ipairs({ LIVE, EXPIRY, MARKS, HOLDS, ASKS }) do
  counts[#counts + 1] = redis.call('ZSCORE', index, id) and 1 or 0
end
return counts
