-- Marks threads that hold a checkpoint; answers which, by position.
-- ARGV: now, the platform's waiting and finished minutes, whether there is an owner, the owner,
-- then the threads. A mark is no activity: it leaves the expiry.
local now, waiting, finished = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local marked = {}
redis.call('UNLINK', BUCKET .. 'nothing')
for i = 6, #ARGV do
  local id = ARGV[i]
  local k = keys_of(id)
  if redis.call('EXISTS', k[2]) == 1 and is_whole(k) then
    local declared = redis.call('HMGET', k[1], 'dw', 'df')
    local own_waiting, own_finished = tonumber(declared[1] or ''), tonumber(declared[2] or '')
    local minutes = math.min(own_finished or finished, finished, own_waiting or waiting, waiting)
    local due = string.format('%.0f', now + minutes * 60000000)
    redis.call('HSET', k[1], 'mk', ARGV[1], 'due', due)
    if ARGV[4] == '1' then
      redis.call('HSET', k[1], 'ow', ARGV[5])
    else
      redis.call('HDEL', k[1], 'ow')
    end
    redis.call('ZADD', MARKS, due, id)
    resealed(k)
    marked[#marked + 1] = i - 5
  end
end
return marked
