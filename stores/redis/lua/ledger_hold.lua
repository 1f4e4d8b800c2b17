-- Holds threads that are there; answers which, by position.
-- ARGV: the platform's and the saver's waiting retention in milliseconds, the reason, the end (or
-- nothing), the instant, whether somebody is named, who, then the threads.
local platform, own = tonumber(ARGV[1]), tonumber(ARGV[2])
local held = {}
redis.call('UNLINK', BUCKET .. 'nothing')
for i = 8, #ARGV do
  local id = ARGV[i]
  local k = keys_of(id)
  if is_whole(k) then
    redis.call('HSET', k[1], 'hr', ARGV[3], 'hu', ARGV[4], 'ha', ARGV[5])
    if ARGV[6] == '1' then
      redis.call('HSET', k[1], 'hb', ARGV[7])
    else
      redis.call('HDEL', k[1], 'hb')
    end
    redis.call('ZADD', HOLDS, ARGV[4] == '' and '+inf' or ARGV[4], id)
    -- What an earlier hold without an end took away counts anew from now.
    local now, expires = resealed(k), tonumber(redis.call('ZSCORE', EXPIRY, id) or '')
    if not expires or expires == math.huge then expires = now + waiting_of(k, platform, own) end
    set_expiry(k, id, expires)
    held[#held + 1] = i - 7
  end
end
return held
