-- Claims a batch; false where it is not to be had. Renews the run in any case.
-- ARGV: run, number, token, now, end of the claim, and an id of this call, by which it is known
-- where it comes again because its answer was lost.
local run, n, batch = ARGV[1], ARGV[2], batch_key(ARGV[1], ARGV[2])
if redis.call('GET', LIVE) ~= run or redis.call('HGET', run_key(run), 'state') ~= 'sweeping' then
  return false
end
writes()
redis.call('HSET', run_key(run), 'lease', ARGV[5])
local claimed = redis.call('ZSCORE', open_key(run), n)
if not claimed then return false end
if redis.call('HGET', batch, 'call') ~= ARGV[6] then
  if tonumber(claimed) ~= 0 and tonumber(claimed) >= tonumber(ARGV[4]) then return false end
  redis.call('HINCRBY', batch, 'attempts', 1)
  redis.call('HSET', batch, 'token', ARGV[3], 'until', ARGV[5], 'call', ARGV[6])
  redis.call('ZADD', open_key(run), ARGV[5], n)
end
-- Deletes in other slots go by the server's clock, whose time this is.
local t = redis.call('TIME')
return { string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000)), row_of_run(run),
  rows_of_batch(run, n) }
