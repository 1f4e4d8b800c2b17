-- What a thread waits for: its book as asks_write.lua kept it, the thread's waiting retention in
-- milliseconds, whether the thread holds anything, and where an operator ended it, when, who and
-- why. ARGV: thread, the platform's and the saver's
-- waiting retention in milliseconds.
local k = keys_of(ARGV[1])
if not is_whole(k) then return { '', ARGV[2], 0 } end
local waiting = waiting_of(k, tonumber(ARGV[2]), tonumber(ARGV[3]))
local known = redis.call('HMGET', k[1], 'asks', 'ea', 'eb', 'er')
local reply = { known[1] or '', string.format('%.0f', waiting), 1 }
if known[2] then reply[4], reply[5], reply[6] = known[2], known[3], known[4] end
return reply
