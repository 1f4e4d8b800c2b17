-- Closed runs whose result was not handed out, ARGV[1] at most.
return rows_of_runs(redis.call('ZRANGE', UNPUBLISHED, 0, ARGV[1] - 1))
