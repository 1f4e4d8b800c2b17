-- Reads all checkpoints, blobs and writes of a thread, packed for copy_write.lua. ARGV: thread.
local k = keys_of(ARGV[1])
if not is_whole(k) then return {} end
local known = redis.call('HMGET', k[1], 'at', 'undated')
return { known[1] or '', known[2] or '0', cmsgpack.pack(redis.call('HGETALL', k[2])),
  cmsgpack.pack(redis.call('ZRANGE', k[3], 0, -1)), cmsgpack.pack(redis.call('HGETALL', k[4])),
  cmsgpack.pack(redis.call('HGETALL', k[5])) }
