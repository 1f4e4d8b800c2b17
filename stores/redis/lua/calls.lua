-- How many calls of scripts the server has carried out, whoever sent them.
local said = redis.call('INFO', 'commandstats')
return tonumber(string.match(said, 'cmdstat_evalsha:calls=(%d+)') or 0)
