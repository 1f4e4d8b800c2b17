-- Ends the pause; 0 where there is none.
return redis.call('UNLINK', LOG .. 'pause')
