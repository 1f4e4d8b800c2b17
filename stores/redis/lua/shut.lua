-- Shuts the bucket to earlier attempts at a batch, and answers with what they recorded here;
-- 'lost' where a later one did so. ARGV: batch, attempt.
local outcomes, attempt = BUCKET .. 'o:' .. ARGV[1], tonumber(ARGV[2])
if tonumber(redis.call('HGET', outcomes, 'attempt') or 0) > attempt then return 'lost' end
redis.call('UNLINK', BUCKET .. 'nothing')
redis.call('HSET', outcomes, 'attempt', ARGV[2])
redis.call('PEXPIRE', outcomes, 604800000)
return redis.call('HGETALL', outcomes)
