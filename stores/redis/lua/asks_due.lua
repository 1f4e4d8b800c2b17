-- Threads of the bucket with something past its deadline that is not settled, those due first, each
-- behind its deadline. ARGV: the clock's time, how many at most. Threads that are gone leave the index.
local found = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', ASKS, '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])) do
  if redis.call('HEXISTS', BUCKET .. 'm:' .. id, 'asks') == 1 then
    found[#found + 1] = redis.call('ZSCORE', ASKS, id)
    found[#found + 1] = id
  else
    redis.call('ZREM', ASKS, id)
  end
end
return found
