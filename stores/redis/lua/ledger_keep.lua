-- Puts the mark of threads back that a delete could not take whole; answers which, by position.
-- ARGV: the instant of the mark, when it is due, then the threads. A start or a mark since then
-- stays, and so does a thread without a checkpoint as it is.
local kept = {}
for i = 3, #ARGV do
  local id = ARGV[i]
  local k = keys_of(id)
  if redis.call('EXISTS', k[2]) == 1 and is_whole(k) then
    local said = redis.call('HMGET', k[1], 'st', 'mk')
    if not said[1] and not said[2] then
      redis.call('HSET', k[1], 'mk', ARGV[1], 'due', ARGV[2])
      redis.call('ZADD', MARKS, ARGV[2], id)
      redis.call('UNLINK', BUCKET .. 'nothing')
      resealed(k)
      kept[#kept + 1] = i - 2
    end
  end
end
return kept
