-- Walks from a checkpoint to its ancestors, for some channels' values and writes.
-- ARGV: thread, the name of the namespace, the id to begin at, empty for the newest; whether that
-- one's own values and writes count; how many ancestors to visit, then the channels.
-- Answers where to go on, empty at the end, and of each one visited its writes of channels whose
-- value was not met yet, and the values it has of those: channel, letter, and the blob, or the body
-- that the value is in.
local k, prefix, name = keys_of(ARGV[1]), ARGV[2], ARGV[3]
if not is_whole(k) then return { '', {} } end
local wanted = {}
for i = 6, #ARGV do wanted[ARGV[i]] = true end

local function values_of(record)
  local values = {}
  for _, entry in ipairs(record[6]) do
    local letter, version = string.sub(entry, 1, 1), string.sub(entry, 2)
    local channel = first_of(version)
    if letter ~= '-' and wanted[channel] then
      wanted[channel] = nil
      local blob = letter == '+' and redis.call('HGET', k[4], prefix .. version)
      for _, part in ipairs({ channel, letter, blob or record[5] }) do
        values[#values + 1] = part
      end
    end
  end
  return values
end

if name == '' then name = newest_in(k, prefix) or '' end
local visited = {}
local counts = ARGV[4] == '1'
while name ~= '' and #visited < tonumber(ARGV[5]) and next(wanted) do
  local record = record_at(k, prefix, name)
  if not record then return { '', visited } end
  if counts then
    local writes = writes_at(k, prefix, name, wanted)
    visited[#visited + 1] = { writes, values_of(record) }
  end
  counts, name = true, record[1]
end
return { next(wanted) and name or '', visited }
