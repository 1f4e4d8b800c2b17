-- How many threads of the bucket are due by ARGV[1].
return redis.call('ZCOUNT', MARKS, '-inf', ARGV[1])
