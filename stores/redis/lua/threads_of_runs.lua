-- Finds threads by the runs that wrote them. ARGV: a cursor, how many threads to look at, the runs.
-- Answers the next cursor and the threads found.
local page = redis.call('ZSCAN', LIVE, ARGV[1], 'COUNT', ARGV[2])
local found = {}
for i = 1, #page[2], 2 do
  local ids = keys_of(page[2][i])[3]
  for run = 3, #ARGV do
    if redis.call('ZSCORE', ids, 'r' .. ARGV[run]) then
      found[#found + 1] = page[2][i]
      break
    end
  end
end
return { page[1], found }
