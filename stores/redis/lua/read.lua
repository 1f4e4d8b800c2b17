-- Reads checkpoints of a thread. ARGV: thread, then of each the name of its namespace and its id,
-- empty for the newest one there. An absent one is nil.
local k = keys_of(ARGV[1])
local found, is_there = {}, is_whole(k)
for i = 2, #ARGV, 2 do
  local prefix, name, record = ARGV[i], ARGV[i + 1], false
  if is_there and name == '' then name = newest_in(k, prefix) end
  if is_there and name then record = record_at(k, prefix, name) end
  found[#found + 1] = record and { name, record[1], record[4], record[5], record[6],
    blobs_of(k, prefix, record[6]), writes_at(k, prefix, name),
    sends_of(k, prefix, record) }
end
return found
