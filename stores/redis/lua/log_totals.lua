-- All totals, series and values.
return redis.call('HGETALL', TOTALS)
