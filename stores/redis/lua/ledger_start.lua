-- Starts threads; all of them are answered, by position, and 0 behind them where the bucket held no
-- thread before. Where an operator ended one of them, its position alone is, below zero, and none
-- is started.
-- ARGV: now, declared waiting and finished minutes (empty where not declared), the platform's
-- waiting retention in milliseconds, then the threads.
local started, platform = {}, tonumber(ARGV[4])
for i = 5, #ARGV do
  local k = keys_of(ARGV[i])
  if redis.call('HEXISTS', k[1], 'ea') == 1 and is_whole(k) then return { 4 - i } end
end
redis.call('UNLINK', BUCKET .. 'nothing')
local is_first = redis.call('EXISTS', EXPIRY) == 0
for i = 5, #ARGV do
  local id = ARGV[i]
  local k = keys_of(id)
  if not is_whole(k) then discard(k, id) end
  redis.call('HSET', k[1], 'st', ARGV[1], 'dw', ARGV[2], 'df', ARGV[3])
  redis.call('HDEL', k[1], 'mk', 'due')
  redis.call('ZREM', MARKS, id)
  -- The declaration is known from here on, so what else the saver would count with is not asked.
  saved(k, id, platform, platform)
  started[#started + 1] = i - 4
end
if is_first then started[#started + 1] = 0 end
return started
