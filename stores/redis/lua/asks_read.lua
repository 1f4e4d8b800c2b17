-- What a thread waits for: its book as asks_write.lua kept it, the thread's waiting retention in
-- milliseconds, and whether the thread holds anything. ARGV: thread, the platform's and the saver's
-- waiting retention in milliseconds.
local k = keys_of(ARGV[1])
if not is_whole(k) then return { '', ARGV[2], 0 } end
local waiting = waiting_of(k, tonumber(ARGV[2]), tonumber(ARGV[3]))
return { redis.call('HGET', k[1], 'asks') or '', string.format('%.0f', waiting), 1 }
