-- Notes that the result of a run was handed out. ARGV: run, now.
if redis.call('EXISTS', run_key(ARGV[1])) == 0 then return 0 end
writes()
redis.call('ZREM', UNPUBLISHED, ARGV[1])
redis.call('HSET', run_key(ARGV[1]), 'published', ARGV[2])
return 1
