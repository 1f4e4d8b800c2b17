-- How the checkpoints of a thread, and the writes at their places, are read. A checkpoint is packed
-- as its parent, its caller, its instant, its metadata, its body, the entries that put.lua
-- explains, and its version; the writes of a task as number, channel, value and path of each.

local function field_of(prefix, name, task)
  return 't' .. prefix .. escaped(name) .. '\0' .. task
end

-- The tasks of a directory, which has the length and the name of each.
local function tasks_in(directory)
  local tasks, start = {}, 1
  while directory and start <= #directory do
    local colon = string.find(directory, ':', start, true)
    local last = colon + tonumber(string.sub(directory, start, colon - 1))
    tasks[#tasks + 1] = string.sub(directory, colon + 1, last)
    start = last + 2
  end
  return tasks
end

-- The tasks that wrote at a place.
local function tasks_at(k, place)
  return tasks_in(redis.call('HGET', k[5], 'd' .. place))
end

-- The writes at a place: task, number, channel, value and path of each, one after the other; only
-- those of some channels where `wanted` is given.
local function writes_at(k, prefix, name, wanted)
  local found = {}
  for _, task in ipairs(tasks_at(k, prefix .. name)) do
    local rows = cmsgpack.unpack(redis.call('HGET', k[5], field_of(prefix, name, task)))
    for i = 1, #rows, 4 do
      if not wanted or wanted[rows[i + 1]] then
        found[#found + 1] = task
        for part = i, i + 3 do found[#found + 1] = rows[part] end
      end
    end
  end
  return found
end

-- The checkpoint at a place, unpacked; false where there is none.
local function record_at(k, prefix, name)
  local packed = redis.call('HGET', k[2], prefix .. name)
  return packed and cmsgpack.unpack(packed)
end

-- The newest checkpoint's id in a namespace.
local function newest_in(k, prefix)
  local start = 'c' .. prefix
  local member = redis.call('ZREVRANGEBYLEX', k[3], '(' .. start .. '\255', '[' .. start,
    'LIMIT', 0, 1)[1]
  return member and string.sub(member, #start + 1)
end

-- The blobs of a checkpoint's entries, in their order.
local function blobs_of(k, prefix, entries)
  local fields = {}
  for i = 1, #entries do
    if string.sub(entries[i], 1, 1) == '+' then
      fields[#fields + 1] = prefix .. string.sub(entries[i], 2)
    end
  end
  return in_parts('HMGET', k[4], fields)
end

-- The sends of a checkpoint of before version 4: they are writes of its parent.
local function sends_of(k, prefix, record)
  if record[7] >= 4 or record[1] == '' then return {} end
  return writes_at(k, prefix, record[1], { __pregel_tasks = true })
end
