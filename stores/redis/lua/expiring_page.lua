-- Threads of the bucket whose keys expire, the first to go first: each with that score, its age,
-- and its row. The age is the milliseconds since the last change of the thread, told from its
-- revision: its last write, or something later that lets it live on, such as the end of a hold. It
-- is 0 while a deadline keeps the thread, and nothing where the revision does not tell.
-- ARGV: how many at most, where the page before ended (a score or nothing, a thread).
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local function age_of(id, revision)
  local seconds, micros = string.match(revision or '', '^(%d+)%.(%d+)%.')
  if not seconds then return '' end
  if tonumber(redis.call('HGET', BUCKET .. 'm:' .. id, 'px') or 0) > now then return '0' end
  return string.format('%.0f', now - seconds * 1000 - math.floor(micros / 1000))
end
local first = ARGV[2] == '' and redis.call('ZCOUNT', EXPIRY, '-inf', string.format('%.0f', now))
  or rank_behind(EXPIRY, ARGV[2], ARGV[3])
local last = math.min(first + ARGV[1], redis.call('ZCOUNT', EXPIRY, '-inf', '(+inf')) - 1
if last < first then return {} end
local found = redis.call('ZRANGE', EXPIRY, first, last, 'WITHSCORES')
local page = {}
for i = 1, #found, 2 do
  local row = row_of(found[i])
  for _, part in ipairs({ found[i], found[i + 1], age_of(found[i], row[10]), row }) do
    page[#page + 1] = part
  end
end
return page
