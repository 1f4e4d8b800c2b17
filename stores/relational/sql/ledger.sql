-- name: start
INSERT INTO retention_threads (
    thread_id, started_at, declared_waiting_minutes, declared_finished_minutes, declared_until
) VALUES (:thread_id, :now, :waiting, :finished, :until)
ON CONFLICT (thread_id) DO UPDATE SET
    started_at = excluded.started_at,
    marked_at = NULL,
    due_at = NULL,
    declared_waiting_minutes = excluded.declared_waiting_minutes,
    declared_finished_minutes = excluded.declared_finished_minutes,
    declared_until = excluded.declared_until;

-- name: mark
INSERT INTO retention_threads (thread_id, marked_at, due_at, owner)
VALUES (:thread_id, :now, :due_at, :owner)
ON CONFLICT (thread_id) DO UPDATE SET
    marked_at = excluded.marked_at, due_at = excluded.due_at, owner = excluded.owner;

-- name: keep_mark
-- Only these columns: a worker's role may write no other.
INSERT INTO retention_threads (thread_id, marked_at, due_at) VALUES (:thread_id, :at, :at)
ON CONFLICT (thread_id) DO NOTHING;

-- name: hold
INSERT INTO retention_threads (thread_id, hold_reason, hold_until, held_by, held_at)
VALUES (:thread_id, :reason, :until, :by, :at)
ON CONFLICT (thread_id) DO UPDATE SET
    hold_reason = excluded.hold_reason, hold_until = excluded.hold_until,
    held_by = excluded.held_by, held_at = excluded.held_at;

-- name: release
UPDATE retention_threads
SET hold_reason = NULL, hold_until = NULL, held_by = NULL, held_at = NULL
WHERE thread_id {ids};

-- name: drop_released
DELETE FROM retention_threads
WHERE thread_id {ids} AND started_at IS NULL AND marked_at IS NULL AND due_at IS NULL
    AND declared_until IS NULL;

-- name: entries
SELECT thread_id, started_at, marked_at, due_at, declared_waiting_minutes,
    declared_finished_minutes, owner, hold_reason, hold_until, held_by, held_at,
    ended_at, ended_by, ended_reason
FROM retention_threads WHERE thread_id {ids};

-- name: ended
SELECT thread_id, ended_by, ended_reason FROM retention_threads
WHERE thread_id {ids} AND ended_at IS NOT NULL ORDER BY thread_id LIMIT 1;

-- name: end
INSERT INTO retention_threads (
    thread_id, marked_at, due_at, ended_at, ended_by, ended_reason
) VALUES (:thread_id, :at, :due_at, :at, :by, :reason)
ON CONFLICT (thread_id) DO UPDATE SET
    marked_at = excluded.marked_at, due_at = excluded.due_at, owner = NULL,
    ended_at = excluded.ended_at, ended_by = excluded.ended_by,
    ended_reason = excluded.ended_reason;

-- name: holds_page
SELECT thread_id FROM retention_threads
WHERE hold_reason IS NOT NULL AND thread_id > :after ORDER BY thread_id LIMIT :limit;

-- name: first_holds_page
-- Without a bound, so that the empty id is found as well.
SELECT thread_id FROM retention_threads
WHERE hold_reason IS NOT NULL ORDER BY thread_id LIMIT :limit;

-- name: redate
-- The mark is compared: one made meanwhile has a due time of its own.
UPDATE retention_threads SET due_at = :due_at
WHERE thread_id = :thread_id AND marked_at = :marked_at AND due_at <> :due_at;

-- name: remove
DELETE FROM retention_threads WHERE thread_id {ids};

-- name: bare
-- Started threads that nothing else is known of: they may never have saved a checkpoint.
SELECT thread_id FROM retention_threads
WHERE started_at < :before
    AND due_at IS NULL AND declared_until IS NULL AND hold_reason IS NULL
ORDER BY started_at LIMIT :limit;

-- name: drop_bare
-- The start is compared again: a thread may have been started anew since it was read.
DELETE FROM retention_threads
WHERE thread_id {ids} AND started_at < :before
    AND due_at IS NULL AND declared_until IS NULL AND hold_reason IS NULL;

-- name: due_page
SELECT thread_id, due_at FROM retention_threads
WHERE due_at <= :now AND (due_at, thread_id) > (:after_at, :after_id)
ORDER BY due_at, thread_id LIMIT :limit;

-- name: declared_page
SELECT thread_id, declared_until FROM retention_threads
WHERE declared_until <= :now AND (declared_until, thread_id) > (:after_at, :after_id)
ORDER BY declared_until, thread_id LIMIT :limit;
