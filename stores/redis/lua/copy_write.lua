-- Adds all that copy_read.lua read to a thread; at the same place what is copied wins.
-- ARGV: thread, platform's and own waiting retention in milliseconds, then that reply.
local id = ARGV[1]
local k = keys_of(id)
local checkpoints, ids = cmsgpack.unpack(ARGV[6]), cmsgpack.unpack(ARGV[7])
local writes = cmsgpack.unpack(ARGV[9])
begun(k, id)

-- Which tasks wrote at a place: those that did here, then the others that did there.
for i = 1, #writes, 2 do
  local here = string.sub(writes[i], 1, 1) == 'd' and redis.call('HGET', k[5], writes[i])
  if here then
    local known, there = {}, tasks_in(writes[i + 1])
    for _, task in ipairs(tasks_in(here)) do known[task] = true end
    for _, task in ipairs(there) do
      if not known[task] then here = here .. #task .. ':' .. task .. ',' end
    end
    writes[i + 1] = here
  end
end
local members = {}
for i = 1, #ids do
  members[#members + 1] = 0
  members[#members + 1] = ids[i]
end
in_parts('HSET', k[2], checkpoints)
in_parts('ZADD', k[3], members)
in_parts('HSET', k[4], cmsgpack.unpack(ARGV[8]))
in_parts('HSET', k[5], writes)
if #checkpoints > 0 then aged(k, id, ARGV[4], ARGV[5] == '1') end
saved(k, id, tonumber(ARGV[2]), tonumber(ARGV[3]))
return 1
