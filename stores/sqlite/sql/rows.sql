-- Rows of the official SQLite saver: tables checkpoints and writes. State is never selected.
-- {shape} matches a UUIDv6; {ids} compares with a list of ids. SQLite keeps any bytes as an id:
-- is_readable, asked of candidates alone, is false of a thread's id that is no text.

-- name: holding
SELECT DISTINCT thread_id FROM checkpoints WHERE thread_id {ids};

-- name: heads
-- One look per thread at the primary key. The last column says whether an id is no UUIDv6.
SELECT thread_id, CAST(max(checkpoint_id) AS TEXT), max(checkpoint_id NOT GLOB {shape})
FROM checkpoints WHERE thread_id {ids} GROUP BY thread_id;

-- name: first_head_page
-- Without a bound, so that the empty id is found as well.
SELECT thread_id, CAST(max(checkpoint_id) AS TEXT) FROM checkpoints
GROUP BY thread_id
HAVING (max(checkpoint_id) < :below OR max(checkpoint_id) > :above)
    AND is_readable(typeof(thread_id), CAST(thread_id AS BLOB))
ORDER BY thread_id LIMIT :limit;

-- name: head_page
SELECT thread_id, CAST(max(checkpoint_id) AS TEXT) FROM checkpoints
WHERE thread_id > :after GROUP BY thread_id
HAVING (max(checkpoint_id) < :below OR max(checkpoint_id) > :above)
    AND is_readable(typeof(thread_id), CAST(thread_id AS BLOB))
ORDER BY thread_id LIMIT :limit;

-- name: head_metadata
-- Metadata is JSON in a column of its own, apart from the state.
SELECT c.thread_id, j.key, j.type, j.atom
FROM checkpoints c
JOIN json_each(CASE WHEN json_valid(CAST(c.metadata AS TEXT))
    THEN CAST(c.metadata AS TEXT) ELSE '{}' END) AS j
WHERE c.thread_id {ids}
    AND c.checkpoint_id = (
        SELECT max(n.checkpoint_id) FROM checkpoints n WHERE n.thread_id = c.thread_id
    )
    AND j.type IN ('text', 'integer', 'real', 'true', 'false');

-- name: holds_any
SELECT EXISTS (SELECT 1 FROM checkpoints) OR EXISTS (SELECT 1 FROM writes);

-- name: inspect_ids
SELECT
    count(*),
    count(DISTINCT thread_id),
    coalesce(sum(length(metadata)), 0),
    min(CASE WHEN checkpoint_id GLOB {shape} THEN checkpoint_id END),
    max(CASE WHEN checkpoint_id GLOB {shape} THEN checkpoint_id END),
    coalesce(sum(checkpoint_id NOT GLOB {shape}), 0)
FROM checkpoints;

-- name: inspect_types
SELECT 'checkpoints', type, count(*), sum(length(checkpoint)) FROM checkpoints GROUP BY type
UNION ALL
SELECT 'writes', type, count(*), sum(length(value)) FROM writes GROUP BY type
ORDER BY 1, 2;

-- name: count
SELECT count(DISTINCT thread_id) FROM checkpoints;

-- name: parked
-- :idx is where LangGraph keeps writes of this channel (WRITES_IDX_MAP): -3 an interrupt, -1 an error.
-- The primary key answers.
-- A subgraph's question is over once its root moved on: with durability "exit", or after a fork,
-- nothing newer is ever saved in the subgraph's own namespace.
SELECT DISTINCT w.thread_id FROM writes w
WHERE w.thread_id {ids} AND w.idx = :idx AND w.channel = :channel
    AND w.checkpoint_id = (
        SELECT max(c.checkpoint_id) FROM checkpoints c
        WHERE c.thread_id = w.thread_id AND c.checkpoint_ns = w.checkpoint_ns
    )
    AND w.checkpoint_id >= coalesce((
        SELECT max(r.checkpoint_id) FROM checkpoints r
        WHERE r.thread_id = w.thread_id AND r.checkpoint_ns = ''
    ), '');

-- name: sizes
-- From the rows' headers: no value is read.
SELECT thread_id, sum(size) FROM (
    SELECT thread_id, coalesce(length(checkpoint), 0) + coalesce(length(metadata), 0) AS size
    FROM checkpoints WHERE thread_id {ids}
    UNION ALL
    SELECT thread_id, coalesce(length(value), 0) FROM writes WHERE thread_id {ids}
) GROUP BY thread_id;

-- name: holdings
SELECT (SELECT count(*) FROM checkpoints WHERE thread_id = :thread_id),
    (SELECT count(*) FROM writes WHERE thread_id = :thread_id);

-- name: erase_checkpoints
DELETE FROM checkpoints WHERE thread_id = :thread_id;

-- name: erase_writes
DELETE FROM writes WHERE thread_id = :thread_id;

-- name: delete_checkpoints
DELETE FROM checkpoints WHERE thread_id {ids};

-- name: delete_writes
DELETE FROM writes WHERE thread_id {ids};

-- name: remnants
-- At once and later alike: SQLite has no dead index entries to walk.
SELECT thread_id FROM checkpoints WHERE thread_id {ids}
UNION
SELECT thread_id FROM writes WHERE thread_id {ids};

-- name: skeleton
-- The last column is the root graph's checkpoint that called a subgraph; metadata is plain JSON.
SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id,
    CASE WHEN json_valid(CAST(metadata AS TEXT))
        THEN CAST(json_extract(CAST(metadata AS TEXT), '$.parents.""') AS TEXT) END
FROM checkpoints
WHERE thread_id = :thread_id;

-- name: skeleton_writes
SELECT checkpoint_ns, checkpoint_id, count(*) FROM writes
WHERE thread_id = :thread_id GROUP BY checkpoint_ns, checkpoint_id;

-- name: delete_dead_checkpoint
DELETE FROM checkpoints
WHERE thread_id = :thread_id AND checkpoint_ns = :ns AND checkpoint_id = :id;

-- name: delete_dead_write
DELETE FROM writes WHERE thread_id = :thread_id AND checkpoint_ns = :ns AND checkpoint_id = :id;
