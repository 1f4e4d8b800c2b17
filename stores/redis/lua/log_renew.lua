-- Renews a live run. ARGV: run, end of the lease.
if redis.call('GET', LIVE) ~= ARGV[1] then return 0 end
writes()
redis.call('HSET', run_key(ARGV[1]), 'lease', ARGV[2])
return 1
