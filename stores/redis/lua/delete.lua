-- Deletes threads of a claimed batch that are as they were judged, and records it in one step.
-- ARGV: batch, attempt, the claim's end by the server's clock in milliseconds, the run's start, then
-- of each thread its position in the batch, id, revision when judged (empty where it was gone),
-- and outcome. Answers 'lost' where the claim is over, else for each thread 1; 0 where it has
-- changed; 2 where it was parked since that start, so that no filter may know it; or the outcome
-- that an earlier call of the same batch recorded.
local outcomes = BUCKET .. 'o:' .. ARGV[1]
local asked = {}
for i = 5, #ARGV, 4 do asked[#asked + 1] = ARGV[i] end
asked[#asked + 1] = 'attempt'
local known = redis.call('HMGET', outcomes, unpack(asked))
local t = redis.call('TIME')
if t[1] * 1000 + math.floor(t[2] / 1000) >= tonumber(ARGV[3])
  or tonumber(known[#asked] or 0) > tonumber(ARGV[2]) then
  return 'lost'
end

-- A thread that is gone may leave a ledger entry, and writes whose checkpoint may yet come.
local function clear(k, id)
  if redis.call('EXISTS', k[2], k[5]) == 0 then return false end
  redis.call('HDEL', k[1], 'st', 'mk', 'due', 'ow', 'dw', 'df', 'hr', 'hu', 'hb', 'ha',
    'ea', 'eb', 'er')
  redis.call('ZREM', MARKS, id)
  redis.call('HDEL', k[1], 'asks', 'ao', 'bo', 'oa', 'px')
  redis.call('ZREM', HOLDS, id)
  redis.call('ZREM', ASKS, id)
  resealed(k)
  return true
end

local asks, since = redis.call('EXISTS', ASKS) == 1, tonumber(ARGV[4])
local function is_parked(id)
  local opened = asks and redis.call('HGET', BUCKET .. 'm:' .. id, 'oa')
  return opened and tonumber(opened) > since and is_whole(keys_of(id))
end

local replies, keys, ids, recorded = {}, {}, {}, {}
local starts = keys_of('')
for i = 5, #ARGV, 4 do
  local n, id = (i - 1) / 4, ARGV[i + 1]
  if known[n] then
    replies[n] = known[n]
  elseif (redis.call('HGET', starts[1] .. id, 'rev') or '') ~= ARGV[i + 2] then
    replies[n] = 0
  elseif is_parked(id) then
    replies[n] = 2
  else
    replies[n] = 1
    recorded[#recorded + 1] = ARGV[i]
    recorded[#recorded + 1] = ARGV[i + 3]
    if string.byte(ARGV[i + 3]) ~= 103 or not clear(keys_of(id), id) then
      local last = #keys
      for part, start in ipairs(starts) do keys[last + part] = start .. id end
      ids[#ids + 1] = id
    end
  end
end
if #keys > 0 then
  redis.call('UNLINK', unpack(keys))
  for _, index in ipairs({ LIVE, EXPIRY, MARKS, HOLDS, ASKS }) do
    redis.call('ZREM', index, unpack(ids))
  end
end
if #recorded > 0 then
  redis.call('HSET', outcomes, unpack(recorded))
  redis.call('PEXPIRE', outcomes, 604800000)
end
return replies
