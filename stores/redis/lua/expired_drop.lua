-- Takes threads that expired out of the bucket's indexes, of ARGV[1] at most; how many.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local ids = redis.call('ZRANGEBYSCORE', EXPIRY, '-inf', string.format('%.0f', now),
  'LIMIT', 0, ARGV[1])
local dropped = 0
redis.call('UNLINK', BUCKET .. 'nothing')
for _, id in ipairs(ids) do
  local k = keys_of(id)
  local left = redis.call('PTTL', k[1])
  if left == -2 then
    discard(k, id)
    dropped = dropped + 1
  else
    -- Somebody gave its keys another end by hand: it is the keys that count.
    redis.call('ZADD', EXPIRY, left == -1 and '+inf' or string.format('%.0f', now + left), id)
  end
end
return dropped
