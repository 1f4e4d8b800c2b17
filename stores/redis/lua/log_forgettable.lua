-- Closed runs without tombstones that ended before ARGV[1], ARGV[2] at most.
return redis.call('ZRANGEBYSCORE', FORGETTABLE, '-inf', '(' .. ARGV[1], 'LIMIT', 0, ARGV[2])
