-- Of some threads, those that are parked, by position. ARGV: ao, where an ask is open after an
-- instant, bo, where a barrier is live after it, or oa, where something was opened after it; that
-- instant; the threads.
local found = {}
if redis.call('EXISTS', ASKS) == 0 then return found end
local now = tonumber(ARGV[2])
for i = 3, #ARGV do
  local last = redis.call('HGET', BUCKET .. 'm:' .. ARGV[i], ARGV[1])
  if last and tonumber(last) > now and is_whole(keys_of(ARGV[i])) then found[#found + 1] = i - 2 end
end
return found
