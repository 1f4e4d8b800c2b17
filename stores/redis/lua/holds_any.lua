-- KEYS[1]: how the names of all keys of a bucket begin. Answers how many of its indexes there are.
return redis.call('EXISTS', KEYS[1] .. 'live', KEYS[1] .. 'expiry')
