-- The run that is not closed, with its row.
local run = redis.call('GET', LIVE)
return run and rows_of_runs({ run }) or {}
