-- name: put
-- One statement: SQLite holds its write lock throughout, so no delete comes between the look at
-- the parent and the insert.
INSERT OR REPLACE INTO checkpoints (
    thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata
)
SELECT :thread_id, :ns, :id, :parent, :type, :checkpoint, :metadata
WHERE :parent IS NULL OR EXISTS (
    SELECT 1 FROM checkpoints
    WHERE thread_id = :thread_id AND checkpoint_ns = :ns AND checkpoint_id = :parent
);
