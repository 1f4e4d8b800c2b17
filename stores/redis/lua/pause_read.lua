-- The pause; false where there is none.
return redis.call('GET', LOG .. 'pause')
