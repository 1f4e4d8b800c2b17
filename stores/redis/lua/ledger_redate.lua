-- Gives marks another due time; how many. ARGV in threes: thread, the instant of its mark, the due
-- time. A thread that was marked anew since is left alone.
local moved = 0
redis.call('UNLINK', BUCKET .. 'nothing')
for i = 1, #ARGV, 3 do
  local id = ARGV[i]
  local k = keys_of(id)
  if redis.call('HGET', k[1], 'mk') == ARGV[i + 1] and is_whole(k) then
    redis.call('HSET', k[1], 'due', ARGV[i + 2])
    redis.call('ZADD', MARKS, ARGV[i + 2], id)
    resealed(k)
    moved = moved + 1
  end
end
return moved
