-- KEYS[1]: how the names of the store's own keys begin; ARGV: generation, compression, buckets and
-- the time. The record made first stays.
local key = KEYS[1] .. 'format'
if redis.call('EXISTS', key) == 1 then return 0 end
redis.call('HSET', key, 'generation', ARGV[1], 'compression', ARGV[2], 'buckets', ARGV[3],
  'recorded_at', ARGV[4])
return 1
