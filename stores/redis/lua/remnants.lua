-- Of the threads ARGV names, those whose ids hold more than what the ledger keeps, by position.
local found = {}
for i = 1, #ARGV do
  local k = keys_of(ARGV[i])
  if redis.call('EXISTS', k[2], k[3], k[4], k[5]) > 0 then found[#found + 1] = i end
end
return found
