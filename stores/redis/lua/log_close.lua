-- Closes a run: 1 for the one that does, 0 for all others, 2 where its outcome is another by now.
-- ARGV: run, an id of this call, now, the outcome it was given so far, its outcome, counts, how many
-- arguments to set and then those to add in the totals: series and values.
local run = ARGV[1]
if redis.call('HGET', run_key(run), 'closer') == ARGV[2] then return 1 end
local known = redis.call('HMGET', run_key(run), 'state', 'outcome', 'started', 'tombs')
if redis.call('GET', LIVE) ~= run or known[1] == 'planning'
  or redis.call('ZCARD', open_key(run)) > 0 then
  return 0
end
if (known[2] or '') ~= ARGV[4] then return 2 end
writes()
redis.call('UNLINK', LIVE, open_key(run), lost_key(run))
redis.call('HSET', run_key(run), 'state', 'closed', 'closer', ARGV[2], 'closed', ARGV[3],
  'outcome', ARGV[5], 'counts', ARGV[6])
redis.call('ZADD', UNPUBLISHED, known[3], run)
if known[4] == '0' then redis.call('ZADD', FORGETTABLE, ARGV[3], run) end
local last = 7 + ARGV[7]
redis.call('HSET', TOTALS, unpack(ARGV, 8, last))
add_to_totals(last + 1, #ARGV)
return 1
