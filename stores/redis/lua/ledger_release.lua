-- Takes holds off threads; answers which, by position.
-- ARGV: the platform's and the saver's waiting retention in milliseconds, then the threads.
local released = {}
redis.call('UNLINK', BUCKET .. 'nothing')
for i = 3, #ARGV do
  local id = ARGV[i]
  local k = keys_of(id)
  if redis.call('HDEL', k[1], 'hr', 'hu', 'hb', 'ha') > 0 then
    redis.call('ZREM', HOLDS, id)
    if seal_of(k) == '0 0 0 0' and redis.call('HEXISTS', k[1], 'st') == 0
      and redis.call('HEXISTS', k[1], 'mk') == 0
      and redis.call('HEXISTS', k[1], 'asks') == 0 then
      discard(k, id)
    else
      -- When the thread was last active is not kept: its waiting retention counts from now.
      saved(k, id, tonumber(ARGV[1]), tonumber(ARGV[2]))
    end
    released[#released + 1] = i - 2
  end
end
return released
