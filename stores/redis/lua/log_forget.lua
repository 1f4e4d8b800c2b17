-- Drops the record of the run ARGV[1]; how many batches are left: it is called again until none is.
if redis.call('EXISTS', run_key(ARGV[1])) == 0 then return 0 end
writes()
if drop_batches(ARGV[1], 1000) > 0 then return 1 end
redis.call('UNLINK', run_key(ARGV[1]))
redis.call('ZREM', RUNS, ARGV[1])
redis.call('ZREM', UNPUBLISHED, ARGV[1])
redis.call('ZREM', FORGETTABLE, ARGV[1])
return 0
