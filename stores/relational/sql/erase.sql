-- The rows of one thread in {table}, one of this project's own.

-- name: count
SELECT count(*) FROM {table} WHERE thread_id = :thread_id;

-- name: erase
DELETE FROM {table} WHERE thread_id = :thread_id;
