-- Records what a lost worker had done. ARGV: run, number, outcomes, counts, how many were deleted.
local run, n = ARGV[1], ARGV[2]
if redis.call('SISMEMBER', lost_key(run), n) == 0 then return 0 end
writes()
local known = redis.call('HMGET', batch_key(run, n), 'deleted', 'done')
redis.call('HSET', batch_key(run, n), 'outcomes', ARGV[3], 'counts', ARGV[4], 'deleted', ARGV[5])
redis.call('SREM', lost_key(run), n)
if known[1] == '0' and ARGV[5] ~= '0' then bury(run, n, known[2]) end
if known[1] ~= ARGV[5] then
  -- Of those found now no hook was told yet.
  redis.call('HDEL', batch_key(run, n), 'deliveries')
  redis.call('ZADD', UNDELIVERED, known[2], n .. ':' .. run)
end
return 1
