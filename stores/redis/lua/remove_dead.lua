-- Removes parts of a thread; answers its new revision, 'gone' where nothing is left of it, or ''
-- where it is not as it was. ARGV: thread, its revision then, the newest instant of the checkpoints
-- that stay, whether some of those have none, then in threes what to remove: c and w, a checkpoint
-- and the writes at a place, by the name of its namespace and its id; b, a blob by its field.
local id = ARGV[1]
local k = keys_of(id)
if not is_whole(k) or redis.call('HGET', k[1], 'rev') ~= ARGV[2] then return '' end
redis.call('UNLINK', BUCKET .. 'nothing')

local remove = {}
function remove.c(prefix, name)
  redis.call('HDEL', k[2], prefix .. name)
  redis.call('ZREM', k[3], 'c' .. prefix .. name, 'i' .. escaped(name) .. '\0' .. first_of(prefix))
end
function remove.w(prefix, name)
  for _, task in ipairs(tasks_at(k, prefix .. name)) do
    redis.call('HDEL', k[5], field_of(prefix, name, task))
  end
  redis.call('HDEL', k[5], 'd' .. prefix .. name)
  redis.call('ZREM', k[3], 'x' .. prefix .. name)
end
function remove.b(field) redis.call('HDEL', k[4], field) end

for i = 5, #ARGV, 3 do remove[ARGV[i]](ARGV[i + 1], ARGV[i + 2]) end
if redis.call('HLEN', k[2]) + redis.call('HLEN', k[5]) == 0 then
  local known = redis.call('HMGET', k[1], 'st', 'mk', 'hr', 'asks')
  if not (known[1] or known[2] or known[3] or known[4]) then
    discard(k, id)
    return 'gone'
  end
end
redis.call('HDEL', k[1], 'head', 'at', 'undated')
redis.call('ZREM', LIVE, id)
-- Where none is to stay, those still there have no date for as long.
if redis.call('HLEN', k[2]) > 0 then
  aged(k, id, ARGV[3], ARGV[4] == '1' or ARGV[3] == '')
end
resealed(k)
return redis.call('HGET', k[1], 'rev')
