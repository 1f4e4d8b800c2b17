-- name: put
-- One statement: SQLite holds its write lock throughout, so neither a delete nor an operator's end
-- comes between the look at parent and ledger and the insert.
INSERT OR REPLACE INTO checkpoints (
    thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata
)
SELECT :thread_id, :ns, :id, :parent, :type, :checkpoint, :metadata
WHERE NOT EXISTS (
    SELECT 1 FROM retention_threads WHERE thread_id = :thread_id AND ended_at IS NOT NULL
) AND (:parent IS NULL OR EXISTS (
    SELECT 1 FROM checkpoints
    WHERE thread_id = :thread_id AND checkpoint_ns = :ns AND checkpoint_id = :parent
));

-- name: ended
SELECT ended_by, ended_reason FROM retention_threads
WHERE thread_id = :thread_id AND ended_at IS NOT NULL;
