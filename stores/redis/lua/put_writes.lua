-- Keeps the writes of a task; their checkpoint may come later. 2 where the bucket held no thread.
-- ARGV: thread, platform's and own waiting retention in milliseconds, the name of the namespace,
-- checkpoint id, task, its path, then of each write its number, channel and value.
-- A write that is there stays, but for those of special channels, whose numbers are negative.
local id, prefix, name, task, path = ARGV[1], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local k = keys_of(id)
local thread = looked_at(k)
if not thread.is_whole then thread = begun_anew(k, id) end

local place = prefix .. name
local field = 't' .. prefix .. escaped(name) .. '\0' .. task
local stored = redis.call('HGET', k[5], field)
local rows = stored and cmsgpack.unpack(stored) or {}
if not stored then
  local tasks = redis.call('HGET', k[5], 'd' .. place) or ''
  add(k, thread, 4, 'HSET', 'd' .. place, tasks .. #task .. ':' .. task .. ',')
end
local row_of = {}
for i = 1, #rows, 4 do row_of[rows[i]] = i end
for i = 8, #ARGV, 3 do
  local number = tonumber(ARGV[i])
  local row = row_of[number]
  if not row or number < 0 then
    row = row or #rows + 1
    row_of[number] = row
    rows[row], rows[row + 1], rows[row + 2], rows[row + 3] = number, ARGV[i + 1], ARGV[i + 2], path
  end
  if ARGV[i + 1] == '__interrupt__' then add(k, thread, 2, 'ZADD', 0, 'x' .. place) end
end
add(k, thread, 4, 'HSET', field, cmsgpack.pack(rows))
stepped(k, id, thread, ARGV[2], ARGV[3])
return thread.is_first and 2 or 1
