-- How many batches owe a delivery.
return redis.call('ZCARD', UNDELIVERED)
