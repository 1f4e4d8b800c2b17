-- The tables of this project. {instant} is the type of an instant, which differs per database.

-- name: threads
-- One row a thread its owner or an operator said something of. A thread without a row waits.
CREATE TABLE IF NOT EXISTS retention_threads (
    thread_id TEXT NOT NULL PRIMARY KEY,
    started_at {instant},
    marked_at {instant},
    due_at {instant},
    owner TEXT,
    declared_waiting_minutes INTEGER,
    declared_finished_minutes INTEGER,
    declared_until {instant},
    hold_reason TEXT,
    hold_until {instant},
    held_at {instant},
    held_by TEXT,
    ended_at {instant},
    ended_by TEXT,
    ended_reason TEXT
);

-- name: threads_due
CREATE INDEX IF NOT EXISTS retention_threads_due
    ON retention_threads (due_at, thread_id) WHERE due_at IS NOT NULL;

-- name: threads_declared
CREATE INDEX IF NOT EXISTS retention_threads_declared
    ON retention_threads (declared_until, thread_id) WHERE declared_until IS NOT NULL;

-- name: threads_bare
CREATE INDEX IF NOT EXISTS retention_threads_bare ON retention_threads (started_at)
    WHERE due_at IS NULL AND declared_until IS NULL AND hold_reason IS NULL;

-- name: threads_held
CREATE INDEX IF NOT EXISTS retention_threads_held
    ON retention_threads (thread_id) WHERE hold_reason IS NOT NULL;

-- name: runs
-- slot is 1 while a run is live and NULL once it is closed: UNIQUE lets one live run in.
CREATE TABLE IF NOT EXISTS retention_runs (
    run_id TEXT NOT NULL PRIMARY KEY,
    slot INTEGER UNIQUE,
    state TEXT NOT NULL,
    outcome TEXT,
    reason TEXT,
    waiting_minutes INTEGER NOT NULL,
    finished_minutes INTEGER NOT NULL,
    allow_over_limit INTEGER NOT NULL DEFAULT 0,
    started_at {instant} NOT NULL,
    lease_until {instant} NOT NULL,
    plan_token TEXT,
    planned INTEGER NOT NULL DEFAULT 0,
    counts TEXT NOT NULL DEFAULT '{{}}',
    closed_at {instant},
    published_at {instant}
);

-- name: runs_started
CREATE INDEX IF NOT EXISTS retention_runs_started ON retention_runs (started_at);

-- name: batches
-- candidates, outcomes and counts are JSON, read and written whole by the claim's holder alone.
CREATE TABLE IF NOT EXISTS retention_batches (
    run_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    source_run TEXT,
    source_number INTEGER,
    candidates TEXT NOT NULL DEFAULT '[]',
    outcomes TEXT NOT NULL DEFAULT '[]',
    counts TEXT NOT NULL DEFAULT '{{}}',
    deleted INTEGER NOT NULL DEFAULT 0,
    token TEXT,
    claimed_until {instant},
    attempts INTEGER NOT NULL DEFAULT 0,
    done_at {instant},
    late_checks INTEGER NOT NULL DEFAULT 0,
    deliveries TEXT NOT NULL DEFAULT '{{}}',
    deliver_at {instant},
    delivered_at {instant},
    PRIMARY KEY (run_id, number)
);

-- name: batches_open
CREATE INDEX IF NOT EXISTS retention_batches_open
    ON retention_batches (run_id, number) WHERE done_at IS NULL;

-- name: batches_tombstones
CREATE INDEX IF NOT EXISTS retention_batches_tombstones
    ON retention_batches (late_checks, done_at) WHERE deleted > 0 AND late_checks < 2;

-- name: batches_undelivered
CREATE INDEX IF NOT EXISTS retention_batches_undelivered ON retention_batches (deliver_at)
    WHERE deleted > 0 AND delivered_at IS NULL AND deliver_at IS NOT NULL;

-- name: format
-- One row: the generation of the store's format. Text, so that garbage can be told from a number.
CREATE TABLE IF NOT EXISTS retention_format (
    slot INTEGER NOT NULL PRIMARY KEY CHECK (slot = 1),
    generation TEXT NOT NULL,
    compression TEXT NOT NULL,
    recorded_at {instant} NOT NULL
);

-- name: totals
CREATE TABLE IF NOT EXISTS retention_totals (
    series TEXT NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);

-- name: pauses
-- One row while sweeps are paused, and after that until a sweep sees that the pause is over.
CREATE TABLE IF NOT EXISTS retention_pauses (
    slot INTEGER NOT NULL PRIMARY KEY CHECK (slot = 1),
    paused_at {instant} NOT NULL,
    paused_until {instant},
    paused_by TEXT,
    reason TEXT
);
