-- How many batches of the run ARGV[1] are open, and how many there are.
return { redis.call('ZCARD', open_key(ARGV[1])),
  tonumber(redis.call('HGET', run_key(ARGV[1]), 'batches') or 0) }
