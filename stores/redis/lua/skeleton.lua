-- A page of what a thread holds, without bodies. ARGV: thread, where to go on, how many.
-- Answers the thread's revision, and of each checkpoint its member in the ids, its parent, caller,
-- instant, metadata and entries, and whether its parent holds its sends.
local k = keys_of(ARGV[1])
if not is_whole(k) then return { '', {} } end
local found = {}
local start = ARGV[2] == '' and '[c' or '(' .. ARGV[2]
for _, member in ipairs(redis.call('ZRANGEBYLEX', k[3], start, '(d', 'LIMIT', 0, ARGV[3])) do
  local place = string.sub(member, 2)
  local record = record_at(k, '', place)
  local prefix = string.sub(place, 1, separator_of(place))
  found[#found + 1] = { member, record[1], record[2], record[3], record[4], record[6],
    #sends_of(k, prefix, record) > 0 and 1 or 0 }
end
return { redis.call('HGET', k[1], 'rev'), found }
