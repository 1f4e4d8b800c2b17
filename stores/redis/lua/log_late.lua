-- Tombstones to look at now: those never looked at, then those looked at once and done by ARGV[1];
-- ARGV[2] at most.
local limit = tonumber(ARGV[2])
local found = redis.call('ZRANGE', LOG .. 'late0', 0, limit - 1)
local aged = redis.call('ZRANGEBYSCORE', LOG .. 'late1', '-inf', ARGV[1],
  'LIMIT', 0, limit - #found)
for _, member in ipairs(aged) do found[#found + 1] = member end
return found
