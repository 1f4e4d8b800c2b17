-- Pauses sweeps. ARGV: the pause as JSON.
writes()
redis.call('SET', LOG .. 'pause', ARGV[1])
return 1
