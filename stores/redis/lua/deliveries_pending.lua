-- Batches whose delivery is due. ARGV: now, how many at most.
return redis.call('ZRANGEBYSCORE', UNDELIVERED, '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
