-- How put.lua and put_writes.lua begin and end. An agent waits for them at every step: so they read
-- a thread's meta once, and count what they add instead of counting all it holds again.

-- What is known of a thread, and in `counts` what each of its other keys holds.
local function looked_at(k)
  local known = redis.call('HMGET', k[1], 'seal', 'n', 'dw', 'hr', 'hu', 'at', 'undated', 'ea',
    'px')
  local counts = { redis.call('HLEN', k[2]), redis.call('ZCARD', k[3]), redis.call('HLEN', k[4]),
    redis.call('HLEN', k[5]) }
  return { is_whole = known[1] == table.concat(counts, ' '), counts = counts, n = known[2],
    declared = known[3], held = known[4], held_until = known[5], at = known[6],
    undated = known[7], ended = known[8], parked_until = known[9] }
end

-- As begun(), of which it is the second half: what is known of a thread that goes on as a new one,
-- and whether it is the only one of its bucket.
local function begun_anew(k, id)
  redis.call('HINCRBY', k[1], 'n', 0)
  discard(k, id)
  return { counts = { 0, 0, 0, 0 }, is_first = redis.call('EXISTS', EXPIRY) == 0 }
end

-- Adds to a key of the thread, by its number among those with a count.
local function add(k, thread, which, command, ...)
  thread.counts[which] = thread.counts[which] + redis.call(command, k[which + 1], ...)
end

-- As saved(), with what else the meta is to hold.
local function stepped(k, id, thread, platform, own, ...)
  local t = redis.call('TIME')
  local n = (thread.n or 0) + 1
  redis.call('HSET', k[1], 'n', n, 'rev', t[1] .. '.' .. t[2] .. '.' .. n,
    'seal', table.concat(thread.counts, ' '), ...)
  local expires = t[1] * 1000 + math.floor(t[2] / 1000)
    + waiting_for(thread.declared, tonumber(platform), tonumber(own))
  expire(k, id, expires, thread.held, thread.held_until, thread.parked_until)
end
