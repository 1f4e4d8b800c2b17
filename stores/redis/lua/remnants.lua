-- Of the threads ARGV names, those whose ids hold more than what the ledger keeps, by position. Their
-- seals say so: whoever writes to a thread seals it, and nothing of one without a seal can be read.
local metas, found = {}, {}
for i = 1, #ARGV do metas[i] = BUCKET .. 'm:' .. ARGV[i] end
-- Mostly nothing is left of any: one call tells.
if redis.call('EXISTS', unpack(metas)) == 0 then return found end
for i = 1, #ARGV do
  local seal = redis.pcall('HGET', metas[i], 'seal')
  if seal and seal ~= '0 0 0 0' then found[#found + 1] = i end
end
return found
