-- Drops what the bucket keeps of the batch ARGV[1].
return redis.call('UNLINK', BUCKET .. 'o:' .. ARGV[1])
