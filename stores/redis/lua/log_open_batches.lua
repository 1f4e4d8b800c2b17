-- Numbers of open batches of a run. ARGV: run, now, and above which end of a claim (-1: all that
-- nobody works on; 0: those whose claim ran out).
return redis.call('ZRANGEBYSCORE', open_key(ARGV[1]), '(' .. ARGV[3], '(' .. ARGV[2])
