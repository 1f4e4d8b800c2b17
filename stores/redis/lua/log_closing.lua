-- A run that may be closed, and the batches whose workers are lost; nothing where it may not.
local run = ARGV[1]
local state = redis.call('HGET', run_key(run), 'state')
if redis.call('GET', LIVE) ~= run or (state ~= 'sweeping' and state ~= 'stopping')
  or redis.call('ZCARD', open_key(run)) > 0 then
  return {}
end
return { run, row_of_run(run), redis.call('SMEMBERS', lost_key(run)) }
