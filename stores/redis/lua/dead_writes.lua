-- A page of a thread's writes. ARGV: thread, cursor, about how many.
-- Answers the revision, the next cursor, and each task's field with how many writes it holds.
local k = keys_of(ARGV[1])
local page = redis.call('HSCAN', k[5], ARGV[2], 'MATCH', 't*', 'COUNT', ARGV[3])
local found = {}
for i = 1, #page[2], 2 do
  found[i], found[i + 1] = page[2][i], #cmsgpack.unpack(page[2][i + 1]) / 4
end
return { redis.call('HGET', k[1], 'rev') or '', page[1], found }
