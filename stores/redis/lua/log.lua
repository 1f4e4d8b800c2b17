-- What every script on the run log begins with. KEYS[1] is how the names of all its keys begin.
--   live          the id of the run that is not closed
--   r:<run>       a run, a hash: its record, and token (of its plan), batches (how many), tombs
--                 (of them, those whose deleted threads are to be looked at again), closer
--   b:<n>:<run>   a batch, a hash: its record, and token and call (of its claim), checks
--   open:<run>    its open batches by the end of their claims, 0 where there is none
--   lost:<run>    batches that ended without their worker: it may have deleted more than it told
--   runs          all runs, the newest first; unpublished, by their start; forgettable, closed ones
--                 without tombstones, by their end
--   late0 late1   tombstones, by their end: batches never looked at again, and once
--   undelivered   batches whose deleted threads hooks are to be told of, by the next try
--   totals        counters over all runs
--   pause         the pause of all sweeps, as JSON: its start, end, and who and why
-- Instants are microseconds, handed in: the worker's clock decides.
local LOG = KEYS[1]
local LIVE, RUNS, TOTALS = LOG .. 'live', LOG .. 'runs', LOG .. 'totals'
local UNPUBLISHED, FORGETTABLE = LOG .. 'unpublished', LOG .. 'forgettable'
local UNDELIVERED = LOG .. 'undelivered'

local function run_key(run) return LOG .. 'r:' .. run end
local function batch_key(run, n) return LOG .. 'b:' .. n .. ':' .. run end
local function open_key(run) return LOG .. 'open:' .. run end
local function lost_key(run) return LOG .. 'lost:' .. run end

-- Comes before the first write: after a delete, be it of nothing, a full server lets a script go
-- on. A sweep that could not write its log would never make room.
local function writes() redis.call('UNLINK', LOG .. 'nothing') end

local function row_of_run(run)
  local row = redis.call('HMGET', run_key(run), 'state', 'outcome', 'reason', 'waiting',
    'finished', 'allow', 'started', 'lease', 'planned', 'counts', 'closed', 'published')
  return row[1] and row
end

local function rows_of_runs(runs)
  local found = {}
  for _, run in ipairs(runs) do
    local row = row_of_run(run)
    if row then
      found[#found + 1] = run
      found[#found + 1] = row
    end
  end
  return found
end

local function row_of_batch(run, n)
  local row = redis.call('HMGET', batch_key(run, n), 'kind', 'source_run', 'source_number',
    'candidates', 'outcomes', 'attempts', 'until', 'done')
  return row[1] and row
end

-- A batch, and where it looks at the threads of another one, that one behind it.
local function rows_of_batch(run, n)
  local row = row_of_batch(run, n)
  if not row then return false end
  return { n, row, row[2] and row_of_batch(row[2], row[3]) }
end

local function plans(run, token)
  local known = redis.call('HMGET', run_key(run), 'state', 'token')
  return redis.call('GET', LIVE) == run and known[1] == 'planning' and known[2] == token
end

local function works_on(run, n, token)
  local known = redis.call('HMGET', batch_key(run, n), 'token', 'done')
  return known[1] == token and not known[2]
end

-- Records that threads of a done batch are to be looked at again.
local function bury(run, n, done)
  redis.call('ZADD', LOG .. 'late0', done, n .. ':' .. run)
  redis.call('HINCRBY', run_key(run), 'tombs', 1)
end

-- A batch that owes a delivery, for whoever reads it: run, batch, next try, how far the hooks are.
local function owed(run, n, at)
  local rows = rows_of_batch(run, n)
  return rows and { run, rows, at, redis.call('HGET', batch_key(run, n), 'deliveries') }
end

-- Ends a batch; with `owes` its deleted threads are to be told of.
local function end_batch(run, n, now, owes)
  redis.call('HSET', batch_key(run, n), 'done', now)
  redis.call('ZREM', open_key(run), n)
  if tonumber(redis.call('HGET', batch_key(run, n), 'deleted')) > 0 then
    bury(run, n, now)
    if owes then redis.call('ZADD', UNDELIVERED, now, n .. ':' .. run) end
  end
end

-- Drops batches of a run from the last one on, so many at most; how many are left.
local function drop_batches(run, limit)
  local count = tonumber(redis.call('HGET', run_key(run), 'batches') or 0)
  local left = math.max(0, count - limit)
  for n = left, count - 1 do
    redis.call('UNLINK', batch_key(run, n))
    redis.call('ZREM', UNDELIVERED, n .. ':' .. run)
  end
  redis.call('HSET', run_key(run), 'batches', left)
  return left
end

local function add_to_totals(first, last)
  for i = first, last, 2 do redis.call('HINCRBY', TOTALS, ARGV[i], ARGV[i + 1]) end
end
