-- A page of a thread's checkpoints, to tell those of a deleted one. ARGV: thread, now, the member of
-- the ids where the page before ended (or nothing), how many at most.
-- Answers the revision, empty where the thread is held or not there, and of each checkpoint its
-- member, parent, caller, instant and the blobs it needs.
local k = keys_of(ARGV[1])
if not is_whole(k) or is_held(k, ARGV[2]) then return { '', {} } end
local found = {}
local start = ARGV[3] == '' and '[c' or '(' .. ARGV[3]
for _, member in ipairs(redis.call('ZRANGEBYLEX', k[3], start, '(d', 'LIMIT', 0, ARGV[4])) do
  local place = string.sub(member, 2)
  local record, blobs = record_at(k, '', place), {}
  for _, entry in ipairs(record[6]) do
    if string.sub(entry, 1, 1) == '+' then
      blobs[#blobs + 1] = string.sub(place, 1, separator_of(place)) .. string.sub(entry, 2)
    end
  end
  found[#found + 1] = { member, record[1], record[2], record[3], blobs }
end
return { redis.call('HGET', k[1], 'rev'), found }
