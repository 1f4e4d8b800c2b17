-- Batches that owe a delivery, the next to be tried first, ARGV[1] at most.
local found = {}
local members = redis.call('ZRANGE', UNDELIVERED, 0, ARGV[1] - 1, 'WITHSCORES')
for i = 1, #members, 2 do
  local n, run = string.match(members[i], '^(%d+):(.*)$')
  local known = owed(run, n, string.format('%.0f', members[i + 1]))
  if known then found[#found + 1] = known end
end
return found
