-- Of some threads, those that are parked, by position. ARGV: ao, where an ask is open after an
-- instant, bo, where a barrier is live after it, or oa, where something was opened after it; that
-- instant; the threads. Whatever is not settled is in the index: one look there tells of all others.
local found, now = {}, tonumber(ARGV[2])
if redis.call('EXISTS', ASKS) == 0 then return found end
local deadlines = redis.call('ZMSCORE', ASKS, unpack(ARGV, 3))
for i = 1, #ARGV - 2 do
  if deadlines[i] then
    local last = redis.pcall('HGET', BUCKET .. 'm:' .. ARGV[i + 2], ARGV[1])
    if (tonumber(last) or 0) > now and is_sound(keys_of(ARGV[i + 2])) then found[#found + 1] = i end
  end
end
return found
