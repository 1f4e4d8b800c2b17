-- What every script on threads begins with. KEYS[1] is how the names of all keys of one bucket
-- begin; the scripts derive names from it, all within the one slot that its hash tag makes.
--
-- The keys of a thread: m: its meta, a hash; c: its checkpoints, i: the names of their places,
-- sorted; b: its blobs; w: its writes. The meta holds, each where there is one:
--   seal    what the other four hold; another count means that one of them was lost
--   rev     a value that no other state of a thread under this id ever had
--   head    the newest checkpoint's id; at: the newest instant of any, in microseconds
--   undated 1 where a checkpoint has no date
--   st mk due ow   started, marked, due, and who marked it
--   dw df   declared retentions in minutes, empty where started without
--   hr hu hb ha    a hold: its reason, end, who and when
--   asks ao bo oa px   what it waits for: its book, until when an ask is open and a barrier live,
--           when something was last opened, and ao by the server's time, in milliseconds
--   ea eb er       that an operator ended it: when, who and why
-- The bucket's indexes, sorted sets of thread ids: live (all that hold a checkpoint, by their
-- newest instant), expiry (every thread, by the server's time at which its keys go), marks (by
-- due time), holds (by end), asks (by the first deadline).
local BUCKET = KEYS[1]
local LIVE, EXPIRY = BUCKET .. 'live', BUCKET .. 'expiry'
local MARKS, HOLDS, ASKS = BUCKET .. 'marks', BUCKET .. 'holds', BUCKET .. 'asks'

local function keys_of(id)
  return { BUCKET .. 'm:' .. id, BUCKET .. 'c:' .. id, BUCKET .. 'i:' .. id,
    BUCKET .. 'b:' .. id, BUCKET .. 'w:' .. id }
end

local function seal_of(k)
  return redis.call('HLEN', k[2]) .. ' ' .. redis.call('ZCARD', k[3]) .. ' '
    .. redis.call('HLEN', k[4]) .. ' ' .. redis.call('HLEN', k[5])
end

-- Whether all of a thread is there. What lost a part, to eviction or a hand, counts as gone.
local function is_whole(k)
  return redis.call('HGET', k[1], 'seal') == seal_of(k)
end

-- The same, asked of some threads beside others: what holds a key of another type is not whole.
local function is_sound(k)
  local is_told, is_so = pcall(is_whole, k)
  return is_told and is_so
end

-- UNLINK, since DEL of a large thread would hold up everybody. It comes first in every script
-- that deletes: after one write the server lets a script go on even where its memory is full.
local function discard(k, id)
  redis.call('UNLINK', k[1], k[2], k[3], k[4], k[5])
  redis.call('ZREM', LIVE, id)
  redis.call('ZREM', EXPIRY, id)
  redis.call('ZREM', MARKS, id)
  redis.call('ZREM', HOLDS, id)
  redis.call('ZREM', ASKS, id)
end

-- The declared waiting retention, capped by the platform's; a thread never started has its
-- saver's. All in milliseconds but the declared one.
local function waiting_for(declared, platform, own)
  if not declared then return math.min(platform, own) end
  if declared == '' then return platform end
  return math.min(platform, declared * 60000)
end

local function waiting_of(k, platform, own)
  return waiting_for(redis.call('HGET', k[1], 'dw'), platform, own)
end

-- One absolute instant for all keys, in the server's time, so that the thread goes whole. A hold
-- without an end takes the instant away; one with an end moves it there at least, and so does an
-- open ask's deadline.
local function expire(k, id, expires, is_held, held_until, parked_until)
  if is_held and held_until == '' then
    for i = 1, 5 do redis.call('PERSIST', k[i]) end
    redis.call('ZADD', EXPIRY, '+inf', id)
    return
  end
  if is_held then expires = math.max(expires, math.ceil(held_until / 1000)) end
  if parked_until then expires = math.max(expires, tonumber(parked_until)) end
  local at = string.format('%.0f', expires)
  for i = 1, 5 do redis.call('PEXPIREAT', k[i], at) end
  redis.call('ZADD', EXPIRY, at, id)
end

local function set_expiry(k, id, expires)
  local known = redis.call('HMGET', k[1], 'hr', 'hu', 'px')
  expire(k, id, expires, known[1], known[2], known[3])
end

-- After every change of a thread: a new revision, the seal, and where it counts as activity, the
-- waiting retention from now on. `platform` and `own` are milliseconds.
local function resealed(k)
  local t = redis.call('TIME')
  local n = redis.call('HINCRBY', k[1], 'n', 1)
  redis.call('HSET', k[1], 'rev', t[1] .. '.' .. t[2] .. '.' .. n, 'seal', seal_of(k))
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function saved(k, id, platform, own)
  set_expiry(k, id, resealed(k) + waiting_of(k, platform, own))
end

-- What every writer on a thread begins with: what is not whole is discarded, so that it goes on as
-- on a new one. Before that comes a write that a full server refuses while nothing is changed yet:
-- after an UNLINK it would let the script go on.
local function begun(k, id)
  if is_whole(k) then return end
  redis.call('HINCRBY', k[1], 'n', 0)
  discard(k, id)
end

-- A text within a name, as the layout's `joined` puts it.
local function escaped(text)
  return (string.gsub(text, '%z', '\0\255'))
end

-- Where the first text of a name that `joined` made of several ends in its NUL.
local function separator_of(name)
  return string.find(name, '%z[^\255]') or #name
end

-- That text.
local function first_of(name)
  return (string.gsub(string.sub(name, 1, separator_of(name) - 1), '%z\255', '\0'))
end

-- Calls a command with many arguments, in parts: Lua unpacks no more than some thousands at once.
-- The parts are of an even length, so that fields and their values stay together.
local function in_parts(command, key, args)
  local replies = {}
  for first = 1, #args, 4000 do
    local reply = redis.call(command, key, unpack(args, first, math.min(first + 3999, #args)))
    if type(reply) == 'table' then
      for i = 1, #reply do replies[#replies + 1] = reply[i] end
    end
  end
  return replies
end

-- The newest checkpoint's id over all namespaces.
local function head_of(k)
  local newest = redis.call('ZREVRANGEBYLEX', k[3], '(j', '[i', 'LIMIT', 0, 1)[1]
  return first_of(string.sub(newest, 2))
end

-- The later of two instants; the first may be missing, the second empty.
local function later(one, other)
  if other == '' or (one and tonumber(one) >= tonumber(other)) then return one end
  return other
end

-- After a thread got a checkpoint of an instant, or of none: its head, its age, and its place in
-- the index of those that hold one.
local function aged(k, id, at, is_undated)
  redis.call('HSET', k[1], 'head', head_of(k))
  if is_undated then redis.call('HSET', k[1], 'undated', 1) end
  local known = redis.call('HMGET', k[1], 'at', 'undated')
  local newest = later(known[1], at)
  if newest then redis.call('HSET', k[1], 'at', newest) end
  redis.call('ZADD', LIVE, known[2] and '+inf' or newest, id)
end

-- Whether a hold keeps the thread at this instant.
local function is_held(k, now)
  local hold = redis.call('HMGET', k[1], 'hr', 'hu')
  return hold[1] and (hold[2] == '' or tonumber(hold[2]) > tonumber(now))
end
