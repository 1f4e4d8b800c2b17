-- Held threads of the bucket, by the end of their holds: each with that score, nothing, and its
-- row. ARGV: how many at most, and where the page before ended: a score (or nothing), a thread.
local first = ARGV[2] == '' and 0 or rank_behind(HOLDS, ARGV[2], ARGV[3])
local found = redis.call('ZRANGE', HOLDS, first, first + ARGV[1] - 1, 'WITHSCORES')
local page = {}
for i = 1, #found, 2 do
  for _, part in ipairs({ found[i], found[i + 1], '', row_of(found[i]) }) do
    page[#page + 1] = part
  end
end
return page
