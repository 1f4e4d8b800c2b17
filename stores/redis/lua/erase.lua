-- Erases a thread that is as it was judged, or gone; 0 where it has changed.
-- ARGV: thread, its revision then, empty where it had none.
local id = ARGV[1]
local k = keys_of(id)
local is_there = redis.call('EXISTS', k[1], k[2], k[3], k[4], k[5]) > 0
if is_there and (redis.call('HGET', k[1], 'rev') or '') ~= ARGV[2] then return 0 end
discard(k, id)
return 1
