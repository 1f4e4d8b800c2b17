-- Records what became of the threads of a batch; 0 where its claim is not ours.
-- ARGV: run, number, token, outcomes, counts, how many were deleted.
if not works_on(ARGV[1], ARGV[2], ARGV[3]) then return 0 end
writes()
redis.call('HSET', batch_key(ARGV[1], ARGV[2]), 'outcomes', ARGV[4], 'counts', ARGV[5],
  'deleted', ARGV[6])
return 1
