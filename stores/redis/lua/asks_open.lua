-- Of some threads, those that are parked, by position. ARGV: ao, where an ask is open after an
-- instant, bo, where a barrier is live after it, or oa, where something was opened after it; that
-- instant; the threads. Whatever is not settled is in the index: mostly a few of a bucket's threads.
local found, now = {}, tonumber(ARGV[2])

local function look(position)
  local last = redis.pcall('HGET', BUCKET .. 'm:' .. ARGV[position], ARGV[1])
  if (tonumber(last) or 0) > now and is_sound(keys_of(ARGV[position])) then
    found[#found + 1] = position - 2
  end
end

local parked = redis.call('ZCARD', ASKS)
if parked < #ARGV then
  local positions = {}
  for i = 3, parked > 0 and #ARGV or 0 do positions[ARGV[i]] = i end
  for _, id in ipairs(parked > 0 and redis.call('ZRANGE', ASKS, 0, -1) or {}) do
    if positions[id] then look(positions[id]) end
  end
else
  for i = 3, #ARGV do look(i) end
end
return found
