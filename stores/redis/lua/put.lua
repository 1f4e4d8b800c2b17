-- Puts a checkpoint; 2 where the bucket held no thread before; 0 where its parent is not in the
-- thread, and who and why where an operator ended that: then nothing is changed.
-- ARGV: thread, platform's and own waiting retention in milliseconds, the name of the namespace,
-- checkpoint id, its name over all namespaces, parent id, caller, instant, run id, its version,
-- metadata, body, how many new blobs, their entries each with its bytes, then the other entries.
-- An entry is a letter and the name of a channel's version: + its blob is stored, * its value is in
-- the body, - it has none. What comes with a ? is + where an earlier put stored it, else -.
local id, prefix, name, parent, at = ARGV[1], ARGV[4], ARGV[5], ARGV[7], ARGV[9]
local k = keys_of(id)
local thread = looked_at(k)
if thread.is_whole and thread.ended then return redis.call('HMGET', k[1], 'eb', 'er') end
if parent ~= '' and not (thread.is_whole and redis.call('HEXISTS', k[2], prefix .. parent) == 1) then
  return 0
end
if not thread.is_whole then thread = begun_anew(k, id) end

local entries = {}
local others = 15 + 2 * ARGV[14]
for i = 15, others - 1, 2 do
  add(k, thread, 3, 'HSETNX', prefix .. string.sub(ARGV[i], 2), ARGV[i + 1])
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
add(k, thread, 1, 'HSET', prefix .. name,
  cmsgpack.pack({ parent, ARGV[8], at, ARGV[12], ARGV[13], entries, tonumber(ARGV[11]) }))
add(k, thread, 2, 'ZADD', 0, 'c' .. prefix .. name, 0, 'i' .. ARGV[6])
if ARGV[10] ~= '' then add(k, thread, 2, 'ZADD', 0, 'r' .. ARGV[10]) end

local newest = later(thread.at, at)
local aging = { 'head', head_of(k) }
if newest then aging[3], aging[4] = 'at', newest end
if at == '' then
  aging[#aging + 1] = 'undated'
  aging[#aging + 1] = 1
end
redis.call('ZADD', LIVE, (at == '' or thread.undated) and '+inf' or newest, id)
stepped(k, id, thread, ARGV[2], ARGV[3], unpack(aging))
return thread.is_first and 2 or 1
