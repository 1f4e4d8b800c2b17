-- Asks and park barriers: what parked runs wait for. :ids is an array of thread ids. A thread's
-- advisory lock is held by whoever changes its rows.
--
-- Statements over some threads join them LATERAL to one look at an index of what is open alone:
-- hardly any thread has any, so that a batch costs as many looks at a small index.

-- name: asks
SELECT ask_id, deadline, opened_at, state, settled_at FROM retention_asks
WHERE thread_id = :thread_id;

-- name: barriers
SELECT barrier_id, ask_ids, deadline, opened_at, state, settled_at FROM retention_barriers
WHERE thread_id = :thread_id;

-- name: keep_ask
INSERT INTO retention_asks (thread_id, ask_id, deadline, opened_at, state, settled_at)
VALUES (:thread_id, :park_id, :deadline, :opened_at, :state, :settled_at)
ON CONFLICT (thread_id, ask_id) DO UPDATE SET
    state = excluded.state, settled_at = excluded.settled_at;

-- name: keep_barrier
INSERT INTO retention_barriers (
    thread_id, barrier_id, ask_ids, deadline, opened_at, state, settled_at
) VALUES (:thread_id, :park_id, :ask_ids, :deadline, :opened_at, :state, :settled_at)
ON CONFLICT (thread_id, barrier_id) DO UPDATE SET
    state = excluded.state, settled_at = excluded.settled_at;

-- name: due
SELECT thread_id FROM (
    (SELECT thread_id, deadline FROM retention_asks
    WHERE state = 'open' AND deadline <= :now ORDER BY deadline LIMIT :limit)
    UNION ALL
    (SELECT thread_id, deadline FROM retention_barriers
    WHERE state = 'open' AND deadline <= :now ORDER BY deadline LIMIT :limit)
) AS parks
GROUP BY thread_id ORDER BY min(deadline), thread_id LIMIT :limit;

-- name: open_asks
SELECT w.thread_id FROM unnest(:ids::text[]) AS w (thread_id)
CROSS JOIN LATERAL (
    SELECT 1 FROM retention_asks a
    WHERE a.thread_id = w.thread_id AND a.state = 'open' AND a.deadline > :now LIMIT 1
) AS one;

-- name: live_barriers
-- Live: its own deadline is ahead, and that of one of its asks, which is still open.
SELECT w.thread_id FROM unnest(:ids::text[]) AS w (thread_id)
CROSS JOIN LATERAL (
    SELECT 1 FROM retention_barriers b
    WHERE b.thread_id = w.thread_id AND b.state = 'open' AND b.deadline > :now
        AND EXISTS (
            SELECT 1 FROM retention_asks a
            WHERE a.thread_id = b.thread_id AND a.state = 'open' AND a.deadline > :now
                AND a.ask_id = ANY(b.ask_ids)
        )
    LIMIT 1
) AS one;

-- name: any
-- Most stores hold none: this spares them the looks of a delete.
SELECT EXISTS (SELECT 1 FROM retention_asks) OR EXISTS (SELECT 1 FROM retention_barriers);

-- name: opened_since
SELECT w.thread_id FROM unnest(:ids::text[]) AS w (thread_id)
CROSS JOIN LATERAL (
    SELECT 1 FROM retention_asks a
    WHERE a.thread_id = w.thread_id AND a.state = 'open' AND a.opened_at > :since LIMIT 1
) AS one
UNION ALL
SELECT w.thread_id FROM unnest(:ids::text[]) AS w (thread_id)
CROSS JOIN LATERAL (
    SELECT 1 FROM retention_barriers b
    WHERE b.thread_id = w.thread_id AND b.state = 'open' AND b.opened_at > :since LIMIT 1
) AS one;

-- name: remove
WITH b AS (
    DELETE FROM retention_barriers WHERE thread_id = ANY(:ids)
)
DELETE FROM retention_asks WHERE thread_id = ANY(:ids);

-- name: remove_bare
WITH bare AS (
    SELECT w.thread_id FROM unnest(:ids::text[]) AS w (thread_id)
    WHERE NOT EXISTS (SELECT 1 FROM retention_threads t WHERE t.thread_id = w.thread_id)
), b AS (
    DELETE FROM retention_barriers WHERE thread_id = ANY(ARRAY(SELECT thread_id FROM bare))
)
DELETE FROM retention_asks WHERE thread_id = ANY(ARRAY(SELECT thread_id FROM bare));

-- name: forget
-- A deadline lies within the waiting retention: so long after it nobody waits, whatever the state.
WITH b AS (
    DELETE FROM retention_barriers WHERE (thread_id, barrier_id) IN (
        SELECT thread_id, barrier_id FROM retention_barriers
        WHERE deadline < :before ORDER BY deadline LIMIT :limit
    )
)
DELETE FROM retention_asks WHERE (thread_id, ask_id) IN (
    SELECT thread_id, ask_id FROM retention_asks
    WHERE deadline < :before ORDER BY deadline LIMIT :limit
);
