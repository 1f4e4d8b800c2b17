-- name: lock
-- Shared among puts, against a delete, which takes it alone. A statement of its own: in one with
-- the insert, the look at the parent would be older than the lock.
SELECT pg_advisory_xact_lock_shared(hashtextextended(:thread_id, {seed}));

-- name: put
-- Nothing is saved where the parent is gone: the thread was deleted under the run; nor where an
-- operator ended the thread: the row then says who did, and why.
WITH ended AS MATERIALIZED (
    SELECT ended_by, ended_reason FROM retention_threads
    WHERE thread_id = :thread_id AND ended_at IS NOT NULL
), put AS (
    INSERT INTO checkpoints (
        thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata
    )
    SELECT :thread_id, :ns, :id, :parent, :checkpoint, :metadata
    WHERE NOT EXISTS (SELECT 1 FROM ended) AND (:parent::text IS NULL OR EXISTS (
        SELECT 1 FROM checkpoints
        WHERE thread_id = :thread_id AND checkpoint_ns = :ns AND checkpoint_id = :parent
    ))
    ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id) DO UPDATE SET
        checkpoint = excluded.checkpoint, metadata = excluded.metadata
    RETURNING 1
)
SELECT (SELECT count(*) FROM put) AS saved, e.ended_by, e.ended_reason
FROM (SELECT 1) AS one LEFT JOIN ended AS e ON true;

-- name: lock_alone
-- A delete waits for puts under way, and for whoever parks the thread; also a statement of its own.
SELECT pg_advisory_xact_lock(hashtextextended(:thread_id, {seed}));

-- name: delete
WITH c AS (
    DELETE FROM checkpoints WHERE thread_id = :thread_id
), b AS (
    DELETE FROM checkpoint_blobs WHERE thread_id = :thread_id
), w AS (
    DELETE FROM checkpoint_writes WHERE thread_id = :thread_id
), p AS (
    DELETE FROM retention_barriers WHERE thread_id = :thread_id
)
DELETE FROM retention_asks WHERE thread_id = :thread_id;
