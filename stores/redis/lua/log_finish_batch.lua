-- Ends a batch; 0 where its claim is not ours.
-- ARGV: run, number, token, now, whether hooks are to be told.
local run, n = ARGV[1], ARGV[2]
local batch = redis.call('HMGET', batch_key(run, n), 'token', 'done', 'source_run', 'source_number')
if batch[1] ~= ARGV[3] then return 0 end
-- Ended already by the same call, whose answer was lost.
if batch[2] then return 1 end
writes()
end_batch(run, n, ARGV[4], ARGV[5] == '1')
-- A look for late writes is none in a run that was stopped: its batches end without one.
if batch[3] and redis.call('HGET', run_key(run), 'state') ~= 'stopping' then
  local source, number = batch[3], batch[4]
  local tomb = number .. ':' .. source
  local buried = redis.call('ZSCORE', LOG .. 'late0', tomb)
  if buried then
    redis.call('ZREM', LOG .. 'late0', tomb)
    redis.call('ZADD', LOG .. 'late1', redis.call('HGET', batch_key(source, number), 'done'), tomb)
  elseif redis.call('ZREM', LOG .. 'late1', tomb) == 1 then
    local closed = redis.call('HGET', run_key(source), 'closed')
    if redis.call('HINCRBY', run_key(source), 'tombs', -1) == 0 and closed then
      redis.call('ZADD', FORGETTABLE, closed, source)
    end
  end
end
return 1
