-- How long the keys of a thread still live, in milliseconds, as PTTL says it. ARGV: thread.
return redis.call('PTTL', keys_of(ARGV[1])[1])
