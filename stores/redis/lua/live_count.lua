-- How many threads of the bucket hold a checkpoint: those indexed less those that expired since.
local t = redis.call('TIME')
local now = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
local count, first = redis.call('ZCARD', LIVE), 0
while true do
  local expired = redis.call('ZRANGEBYSCORE', EXPIRY, '-inf', now, 'LIMIT', first, 1000)
  if #expired == 0 then return count end
  for _, score in ipairs(redis.call('ZMSCORE', LIVE, unpack(expired))) do
    if score then count = count - 1 end
  end
  first = first + 1000
end
