-- Reads the metadata alone of checkpoints, each named as in read.lua by namespace and id.
local k = keys_of(ARGV[1])
local found, is_there = {}, is_whole(k)
for i = 2, #ARGV, 2 do
  local record = is_there and record_at(k, ARGV[i], ARGV[i + 1])
  found[#found + 1] = record and record[4]
end
return found
