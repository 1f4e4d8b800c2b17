-- Threads of the bucket whose keys expire within a time, the first to go first: each with that
-- score, the milliseconds left to it, and its row.
-- ARGV: how many at most, where the page before ended (a score or nothing, a thread), the time in
-- milliseconds.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local function up_to(instant)
  return redis.call('ZCOUNT', EXPIRY, '-inf', string.format('%.0f', instant))
end
local first = ARGV[2] == '' and up_to(now) or rank_behind(EXPIRY, ARGV[2], ARGV[3])
local last = math.min(first + ARGV[1], up_to(now + ARGV[4])) - 1
if last < first then return {} end
local found = redis.call('ZRANGE', EXPIRY, first, last, 'WITHSCORES')
local page = {}
for i = 1, #found, 2 do
  local left = string.format('%.0f', found[i + 1] - now)
  for _, part in ipairs({ found[i], found[i + 1], left, row_of(found[i]) }) do
    page[#page + 1] = part
  end
end
return page
