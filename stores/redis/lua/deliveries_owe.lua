-- Keeps the batch of an erase, which is no run's and no tombstone, and when it is due.
-- ARGV: run, number, kind, candidates, outcomes, end, next try.
writes()
redis.call('HSET', batch_key(ARGV[1], ARGV[2]), 'kind', ARGV[3], 'candidates', ARGV[4],
  'outcomes', ARGV[5], 'counts', '{}', 'deleted', 1, 'attempts', 0, 'checks', 0, 'done', ARGV[6])
redis.call('ZADD', UNDELIVERED, ARGV[7], ARGV[2] .. ':' .. ARGV[1])
return 1
