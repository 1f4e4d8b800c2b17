-- Keeps what a thread waits for; 0 where its book is not the one that was read, or the thread gone.
-- ARGV: thread, the book as it was read, the book now, until when an ask is open and a barrier live,
-- when something was last opened, the first deadline (each empty where there is none), the clock's
-- time, the platform's and the saver's waiting retention in milliseconds, whether something was
-- opened. Instants are microseconds of the caller's clock. Each book differs from all others: one
-- that is there already was written by a call whose answer was lost.
local id = ARGV[1]
local k = keys_of(id)
local known = redis.call('HGET', k[1], 'asks') or ''
if known == ARGV[3] then return 1 end
if known ~= ARGV[2] or not is_whole(k) then return 0 end
-- To open is a write as any other; an answer is taken where the server is full, too.
if ARGV[11] == '0' then redis.call('UNLINK', BUCKET .. 'nothing') end
redis.call('HSET', k[1], 'asks', ARGV[3])
for i, field in ipairs({ 'ao', 'bo', 'oa' }) do
  if ARGV[3 + i] == '' then
    redis.call('HDEL', k[1], field)
  else
    redis.call('HSET', k[1], field, ARGV[3 + i])
  end
end
if ARGV[7] == '' then
  redis.call('ZREM', ASKS, id)
else
  redis.call('ZADD', ASKS, ARGV[7], id)
end
local now = resealed(k)
if ARGV[4] == '' then
  redis.call('HDEL', k[1], 'px')
else
  -- The deadline in the server's time: a shorter retention declared later takes nothing from it.
  local left = math.ceil((tonumber(ARGV[4]) - tonumber(ARGV[8])) / 1000)
  redis.call('HSET', k[1], 'px', string.format('%.0f', now + left))
end
if ARGV[11] == '1' then
  set_expiry(k, id, now + waiting_of(k, tonumber(ARGV[9]), tonumber(ARGV[10])))
end
return 1
