-- Of the threads ARGV names, those whose ids hold more than what the ledger keeps, by position. Their
-- seals say so: whoever writes to a thread seals it, and nothing of one without a seal can be read.
local found = {}
for i = 1, #ARGV do
  local seal = redis.pcall('HGET', BUCKET .. 'm:' .. ARGV[i], 'seal')
  if seal and seal ~= '0 0 0 0' then found[#found + 1] = i end
end
return found
