-- The tables of asks and park barriers, which only PostgreSQL has beside those of stores.relational.

-- name: asks
CREATE TABLE IF NOT EXISTS retention_asks (
    thread_id TEXT NOT NULL,
    ask_id TEXT NOT NULL,
    deadline TIMESTAMPTZ NOT NULL,
    opened_at TIMESTAMPTZ NOT NULL,
    state TEXT NOT NULL,
    settled_at TIMESTAMPTZ,
    PRIMARY KEY (thread_id, ask_id)
);

-- name: asks_open
CREATE INDEX IF NOT EXISTS retention_asks_open
    ON retention_asks (thread_id, deadline) WHERE state = 'open';

-- name: asks_due
CREATE INDEX IF NOT EXISTS retention_asks_due ON retention_asks (deadline) WHERE state = 'open';

-- name: asks_old
CREATE INDEX IF NOT EXISTS retention_asks_old ON retention_asks (deadline);

-- name: barriers
CREATE TABLE IF NOT EXISTS retention_barriers (
    thread_id TEXT NOT NULL,
    barrier_id TEXT NOT NULL,
    ask_ids TEXT[] NOT NULL,
    deadline TIMESTAMPTZ NOT NULL,
    opened_at TIMESTAMPTZ NOT NULL,
    state TEXT NOT NULL,
    settled_at TIMESTAMPTZ,
    PRIMARY KEY (thread_id, barrier_id)
);

-- name: barriers_open
CREATE INDEX IF NOT EXISTS retention_barriers_open
    ON retention_barriers (thread_id, deadline) WHERE state = 'open';

-- name: barriers_due
CREATE INDEX IF NOT EXISTS retention_barriers_due
    ON retention_barriers (deadline) WHERE state = 'open';

-- name: barriers_old
CREATE INDEX IF NOT EXISTS retention_barriers_old ON retention_barriers (deadline);
