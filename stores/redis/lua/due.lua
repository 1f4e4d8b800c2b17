-- Threads of the bucket that are due: the last one's due time, then each with its row.
-- ARGV: by when, how many at most, behind how many, and where the page before ended: a due time (or
-- nothing), a thread.
local first = ARGV[3] + (ARGV[4] == '' and 0 or rank_behind(MARKS, ARGV[4], ARGV[5]))
local due = redis.call('ZCOUNT', MARKS, '-inf', ARGV[1])
local last = math.min(first + ARGV[2], due) - 1
if last < first then return {} end
local found = redis.call('ZRANGE', MARKS, first, last)
local page = { redis.call('ZSCORE', MARKS, found[#found]) }
for i = 1, #found do
  page[2 * i], page[2 * i + 1] = found[i], row_of(found[i])
end
return page
