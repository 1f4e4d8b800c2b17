-- A batch owes a delivery from its end on, where it deleted threads and hooks are on.

-- name: pending
SELECT run_id, number FROM retention_batches
WHERE deleted > 0 AND delivered_at IS NULL AND deliver_at <= :now
ORDER BY deliver_at LIMIT :limit;

-- name: take
UPDATE retention_batches SET deliver_at = :until
WHERE run_id = :run_id AND number = :number
    AND deleted > 0 AND delivered_at IS NULL AND deliver_at <= :now;

-- name: taken
SELECT run_id, number, deliver_at, deliveries FROM retention_batches
WHERE run_id = :run_id AND number = :number;

-- name: record
UPDATE retention_batches
SET deliveries = :deliveries, deliver_at = :retry_at, delivered_at = :delivered_at
WHERE run_id = :run_id AND number = :number AND delivered_at IS NULL;

-- name: owe
-- The batch of an erase: no run's, and no tombstone. Due from the first, so that a crash is seen.
INSERT INTO retention_batches (
    run_id, number, kind, candidates, outcomes, deleted, done_at, late_checks, deliver_at
) VALUES (
    :run_id, :number, :kind, :candidates, :outcomes, 1, :done_at, 2, :deliver_at
) ON CONFLICT (run_id, number) DO UPDATE
SET outcomes = excluded.outcomes, deliver_at = excluded.deliver_at;

-- name: drop
DELETE FROM retention_batches WHERE run_id = :run_id AND number = :number AND kind = 'erase';

-- name: count
SELECT count(*) FROM retention_batches
WHERE deleted > 0 AND delivered_at IS NULL AND deliver_at IS NOT NULL;

-- name: listing
SELECT run_id, number, deliver_at, deliveries FROM retention_batches
WHERE deleted > 0 AND delivered_at IS NULL AND deliver_at IS NOT NULL
ORDER BY deliver_at LIMIT :limit;
