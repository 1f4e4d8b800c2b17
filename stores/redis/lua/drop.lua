-- Drops checkpoints of a thread with their writes; answers 0, and changes nothing, where the thread
-- is not as it was when they were chosen.
-- ARGV: thread, its revision then, the newest instant of what stays, whether some of that has none,
-- and in numbers and lists: of the dropped checkpoints, namespace and id; of those that stay and
-- lose their parent, namespace, id and new parent; the blobs to drop; the runs that stay.
local id = ARGV[1]
local k = keys_of(id)
if not is_whole(k) or redis.call('HGET', k[1], 'rev') ~= ARGV[2] then return 0 end
local at = 5
local function each(parts, work)
  local last = at + parts * tonumber(ARGV[at])
  for i = at + 1, last, parts do work(ARGV[i], ARGV[i + 1], ARGV[i + 2]) end
  at = last + 1
end

local function drop(prefix, name)
  local place = prefix .. name
  for _, task in ipairs(tasks_at(k, place)) do
    redis.call('HDEL', k[5], field_of(prefix, name, task))
  end
  redis.call('HDEL', k[5], 'd' .. place)
  redis.call('HDEL', k[2], place)
  redis.call('ZREM', k[3], 'c' .. place, 'x' .. place,
    'i' .. escaped(name) .. '\0' .. first_of(prefix))
end

local function move(prefix, name, parent)
  local record = record_at(k, prefix, name)
  record[1] = parent
  redis.call('HSET', k[2], prefix .. name, cmsgpack.pack(record))
end

local runs = {}
each(2, drop)
each(3, move)
each(1, function(blob) redis.call('HDEL', k[4], blob) end)
each(1, function(run) runs['r' .. run] = true end)
for _, member in ipairs(redis.call('ZRANGEBYLEX', k[3], '[r', '(s')) do
  if not runs[member] then redis.call('ZREM', k[3], member) end
end
if redis.call('HLEN', k[2]) + redis.call('HLEN', k[5]) == 0 then
  discard(k, id)
  return 1
end
redis.call('HDEL', k[1], 'head', 'at', 'undated')
redis.call('ZREM', LIVE, id)
if redis.call('HLEN', k[2]) > 0 then aged(k, id, ARGV[3], ARGV[4] == '1') end
resealed(k)
return 1
