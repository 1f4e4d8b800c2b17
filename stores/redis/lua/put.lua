-- Puts a checkpoint; 0 where its parent is not in the thread, and then nothing is changed.
-- ARGV: thread, platform's and own waiting retention in milliseconds, the name of the namespace,
-- checkpoint id, its name over all namespaces, parent id, caller, instant, run id, its version,
-- metadata, body, how many new blobs, their entries each with its bytes, then the other entries.
-- An entry is a letter and the name of a channel's version: + its blob is stored, * its value is in
-- the body, - it has none. What comes with a ? is + where an earlier put stored it, else -.
local id, prefix, name, parent, at = ARGV[1], ARGV[4], ARGV[5], ARGV[7], ARGV[9]
local k = keys_of(id)
if parent ~= '' and not (is_whole(k) and redis.call('HEXISTS', k[2], prefix .. parent) == 1) then
  return 0
end
begun(k, id)

local entries = {}
local others = 15 + 2 * ARGV[14]
for i = 15, others - 1, 2 do
  redis.call('HSETNX', k[4], prefix .. string.sub(ARGV[i], 2), ARGV[i + 1])
  entries[#entries + 1] = ARGV[i]
end
for i = others, #ARGV do
  local entry = ARGV[i]
  if string.sub(entry, 1, 1) == '?' then
    local version = string.sub(entry, 2)
    local is_stored = redis.call('HEXISTS', k[4], prefix .. version) == 1
    entry = (is_stored and '+' or '-') .. version
  end
  entries[#entries + 1] = entry
end
redis.call('HSET', k[2], prefix .. name,
  cmsgpack.pack({ parent, ARGV[8], at, ARGV[12], ARGV[13], entries, tonumber(ARGV[11]) }))
redis.call('ZADD', k[3], 0, 'c' .. prefix .. name, 0, 'i' .. ARGV[6])
if ARGV[10] ~= '' then redis.call('ZADD', k[3], 0, 'r' .. ARGV[10]) end
aged(k, id, at, at == '')
saved(k, id, tonumber(ARGV[2]), tonumber(ARGV[3]))
return 1
