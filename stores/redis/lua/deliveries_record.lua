-- Keeps how far a delivery is. ARGV: run, number, deliveries, next try (empty: nothing is owed).
local member = ARGV[2] .. ':' .. ARGV[1]
if not redis.call('ZSCORE', UNDELIVERED, member) then return 0 end
writes()
redis.call('HSET', batch_key(ARGV[1], ARGV[2]), 'deliveries', ARGV[3])
if ARGV[4] == '' then
  redis.call('ZREM', UNDELIVERED, member)
else
  redis.call('ZADD', UNDELIVERED, ARGV[4], member)
end
return 1
