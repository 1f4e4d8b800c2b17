-- A page of the threads that hold a checkpoint, each with its score, newest first. ARGV: the score
-- to begin at, how many threads of that score to pass over, how many to read.
return redis.call('ZREVRANGEBYSCORE', LIVE, ARGV[1], '-inf', 'WITHSCORES', 'LIMIT', ARGV[2], ARGV[3])
