-- Gives a claim back, if it is ours. ARGV: run, number, token.
if not works_on(ARGV[1], ARGV[2], ARGV[3]) then return 0 end
writes()
redis.call('HDEL', batch_key(ARGV[1], ARGV[2]), 'token', 'until', 'call')
redis.call('ZADD', open_key(ARGV[1]), 0, ARGV[2])
return 1
