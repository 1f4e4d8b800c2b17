-- How many threads the bucket's indexes name that expired.
local t = redis.call('TIME')
return redis.call('ZCOUNT', EXPIRY, '-inf', string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000)))
