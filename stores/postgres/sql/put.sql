-- name: lock
-- Shared among puts, against a delete, which takes it alone. A statement of its own: in one with
-- the insert, the look at the parent would be older than the lock.
SELECT pg_advisory_xact_lock_shared(hashtextextended(:thread_id, {seed}));

-- name: put
-- No row comes back where the parent is gone: the thread was deleted under the run.
INSERT INTO checkpoints (
    thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata
)
SELECT :thread_id, :ns, :id, :parent, :checkpoint, :metadata
WHERE :parent::text IS NULL OR EXISTS (
    SELECT 1 FROM checkpoints
    WHERE thread_id = :thread_id AND checkpoint_ns = :ns AND checkpoint_id = :parent
)
ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id) DO UPDATE SET
    checkpoint = excluded.checkpoint, metadata = excluded.metadata
RETURNING 1;
