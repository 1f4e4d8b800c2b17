-- name: sees_replicas
SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE');

-- name: replica_lag
-- NULL for a replica that is up to date and idle.
SELECT coalesce(max(extract(epoch FROM replay_lag)), 0) FROM pg_stat_replication;

-- name: lock_waits
-- A wait for a row is one for its transaction, which belongs to no database.
SELECT count(*) FROM pg_locks WHERE NOT granted AND (database IS NULL OR database = (
    SELECT oid FROM pg_database WHERE datname = current_database()
));
