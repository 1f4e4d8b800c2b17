-- Keeps the batch of an erase no longer. ARGV: run, number.
local batch = batch_key(ARGV[1], ARGV[2])
if redis.call('HGET', batch, 'kind') ~= 'erase' then return 0 end
redis.call('UNLINK', batch)
redis.call('ZREM', UNDELIVERED, ARGV[2] .. ':' .. ARGV[1])
return 1
