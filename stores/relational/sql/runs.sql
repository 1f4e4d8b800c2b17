-- name: open
INSERT INTO retention_runs (
    run_id, slot, state, waiting_minutes, finished_minutes, allow_over_limit,
    started_at, lease_until, plan_token
) VALUES (
    :run_id, 1, 'planning', :waiting, :finished, :allow_over_limit, :started_at, :until, :token
) ON CONFLICT DO NOTHING;

-- name: live
SELECT {run} FROM retention_runs WHERE slot = 1;

-- name: get
SELECT {run} FROM retention_runs WHERE run_id = :run_id;

-- name: history
SELECT {run} FROM retention_runs
WHERE started_at < :at OR (started_at = :at AND run_id > :after)
ORDER BY started_at DESC, run_id LIMIT :limit;

-- name: unpublished
SELECT {run} FROM retention_runs
WHERE slot IS NULL AND published_at IS NULL ORDER BY started_at LIMIT :limit;

-- name: take_plan
UPDATE retention_runs SET plan_token = :token, lease_until = :until, planned = 0
WHERE run_id = :run_id AND slot = 1 AND state = 'planning' AND lease_until < :now;

-- name: drop_batches
DELETE FROM retention_batches WHERE run_id = :run_id;

-- name: renew_plan
UPDATE retention_runs SET lease_until = :until, planned = planned + :added
WHERE run_id = :run_id AND slot = 1 AND state = 'planning' AND plan_token = :token;

-- name: add_batch
INSERT INTO retention_batches (run_id, number, kind, source_run, source_number, candidates)
VALUES (:run_id, :number, :kind, :source_run, :source_number, :candidates);

-- name: end_plan
UPDATE retention_runs SET state = 'sweeping', lease_until = :until
WHERE run_id = :run_id AND slot = 1 AND state = 'planning' AND plan_token = :token;

-- name: late_sources
-- Tombstones: batches that deleted threads, not looked at again yet, or not since they aged.
SELECT run_id, number FROM retention_batches
WHERE deleted > 0 AND done_at IS NOT NULL
    AND (late_checks = 0 OR (late_checks = 1 AND done_at <= :before))
    AND late_checks < 2
ORDER BY late_checks, done_at LIMIT :limit;

-- name: renew_sweeping
-- Taken before a claim: its row lock lets no claim slip past a stop.
UPDATE retention_runs SET lease_until = :until
WHERE run_id = :run_id AND slot = 1 AND state = 'sweeping';

-- name: claim
UPDATE retention_batches SET token = :token, claimed_until = :until, attempts = attempts + 1
WHERE run_id = :run_id AND number = :number AND done_at IS NULL
    AND (claimed_until IS NULL OR claimed_until < :now)
    AND EXISTS (
        SELECT 1 FROM retention_runs r
        WHERE r.run_id = :run_id AND r.slot = 1 AND r.state = 'sweeping'
    );

-- name: renew
UPDATE retention_runs SET lease_until = :until WHERE run_id = :run_id AND slot = 1;

-- name: batch
SELECT {batch} FROM retention_batches WHERE run_id = :run_id AND number = :number;

-- name: batch_page
SELECT {batch} FROM retention_batches
WHERE run_id = :run_id AND number > :after ORDER BY number LIMIT :limit;

-- name: held
SELECT 1 FROM retention_batches
WHERE run_id = :run_id AND number = :number AND token = :token AND done_at IS NULL;

-- name: record
UPDATE retention_batches SET outcomes = :outcomes, counts = :counts, deleted = :deleted
WHERE run_id = :run_id AND number = :number AND token = :token AND done_at IS NULL;

-- name: release
UPDATE retention_batches SET token = NULL, claimed_until = NULL
WHERE run_id = :run_id AND number = :number AND token = :token AND done_at IS NULL;

-- name: finish_batch
UPDATE retention_batches SET done_at = :now, deliver_at = :deliver_at
WHERE run_id = :run_id AND number = :number AND token = :token AND done_at IS NULL;

-- name: checked
-- Not by a run that was stopped: its batches end without a look.
UPDATE retention_batches SET late_checks = late_checks + 1
WHERE run_id = :run_id AND number = :number
    AND NOT EXISTS (SELECT 1 FROM retention_runs WHERE run_id = :by AND state = 'stopping');

-- name: claimed_open
SELECT number FROM retention_batches
WHERE run_id = :run_id AND done_at IS NULL AND claimed_until < :now ORDER BY number;

-- name: idle_open
SELECT number FROM retention_batches
WHERE run_id = :run_id AND done_at IS NULL AND (claimed_until IS NULL OR claimed_until < :now)
ORDER BY number;

-- name: count_open
SELECT count(*) FROM retention_batches WHERE run_id = :run_id AND done_at IS NULL;

-- name: count_batches
SELECT count(*) FROM retention_batches WHERE run_id = :run_id;

-- name: stop
-- The first outcome and reason stay: they say why the run stopped.
UPDATE retention_runs SET
    state = 'stopping',
    outcome = coalesce(outcome, :outcome),
    reason = coalesce(reason, :reason)
WHERE run_id = :run_id AND slot = 1;

-- name: mend
-- No column is read: whatever is in it, none can stand in the way.
UPDATE retention_runs SET
    state = CASE WHEN slot = 1 THEN 'stopping' ELSE 'closed' END,
    outcome = 'failed', reason = :reason, plan_token = NULL, allow_over_limit = 0, planned = 0,
    waiting_minutes = :waiting, finished_minutes = :finished, counts = :counts,
    started_at = :now, lease_until = :now,
    closed_at = CASE WHEN slot = 1 THEN NULL ELSE :now END,
    published_at = CASE WHEN slot = 1 THEN NULL ELSE :now END
WHERE run_id = :run_id;

-- name: end_idle
-- Whether hooks are on is not known here: where none is, the next tick clears the debt.
UPDATE retention_batches SET done_at = :now, deliver_at = :now, token = NULL
WHERE run_id = :run_id AND done_at IS NULL AND (claimed_until IS NULL OR claimed_until < :now);

-- name: take_close
-- One winner: a second caller finds slot empty. A plan is never closed before it is whole.
UPDATE retention_runs SET slot = NULL, state = 'closed', closed_at = :now
WHERE run_id = :run_id AND slot = 1 AND state IN ('sweeping', 'stopping')
    AND NOT EXISTS (
        SELECT 1 FROM retention_batches b WHERE b.run_id = :run_id AND b.done_at IS NULL
    );

-- name: total
UPDATE retention_runs SET outcome = :outcome, counts = :counts WHERE run_id = :run_id;

-- name: counts
SELECT kind, counts FROM retention_batches WHERE run_id = :run_id;

-- name: add_total
INSERT INTO retention_totals (series, value) VALUES (:series, :value)
ON CONFLICT (series) DO UPDATE SET value = retention_totals.value + excluded.value;

-- name: set_total
INSERT INTO retention_totals (series, value) VALUES (:series, :value)
ON CONFLICT (series) DO UPDATE SET value = excluded.value;

-- name: totals
SELECT series, value FROM retention_totals;

-- name: published
UPDATE retention_runs SET published_at = :now WHERE run_id = :run_id;

-- name: forgettable
-- Runs whose tombstones were looked at twice; the others wait for that.
SELECT run_id FROM retention_runs r
WHERE r.slot IS NULL AND r.closed_at < :before AND NOT EXISTS (
    SELECT 1 FROM retention_batches b
    WHERE b.run_id = r.run_id AND b.deleted > 0 AND b.late_checks < 2
) ORDER BY r.started_at LIMIT :limit;

-- name: forget_run
DELETE FROM retention_runs WHERE run_id = :run_id;
