-- Rows of the official PostgreSQL saver: checkpoints, checkpoint_blobs and checkpoint_writes. No
-- blob column is read. :ids is an array of thread ids.
--
-- Statements over some threads join them LATERAL to a look at the primary key: planned from
-- estimates of a thread's rows, any other join goes to a sequential scan sooner or later.

-- name: lock
-- A statement of its own: read in one with the facts, those would be older than the locks.
SELECT w.thread_id FROM unnest(:ids::text[]) AS w (thread_id)
WHERE pg_try_advisory_xact_lock(hashtextextended(w.thread_id, {seed}));

-- name: lock_all
SELECT count(pg_advisory_xact_lock(hashtextextended(w.thread_id, {seed})))
FROM (SELECT thread_id FROM unnest(:ids::text[]) AS u (thread_id) ORDER BY thread_id) AS w;

-- name: next_transaction
-- A transaction gets its number with its first change. A delete that has this very number, and after
-- which this number is one higher, had none beside it whose changes could be seen by now.
-- None where a table has triggers, rules or the like: those may keep rows, or write some, unseen.
SELECT CASE WHEN txid_snapshot_xmin(s) = txid_snapshot_xmax(s) AND NOT EXISTS (
    SELECT 1 FROM pg_catalog.pg_class
    WHERE oid IN (
        'checkpoints'::regclass, 'checkpoint_blobs'::regclass, 'checkpoint_writes'::regclass,
        'retention_threads'::regclass, 'retention_batches'::regclass,
        'retention_asks'::regclass, 'retention_barriers'::regclass
    ) AND (relkind <> 'r' OR relhastriggers OR relhasrules OR relrowsecurity OR relhassubclass)
) THEN txid_snapshot_xmax(s) END
FROM txid_current_snapshot() AS s;

-- name: holding
SELECT w.thread_id FROM unnest(:ids::text[]) AS w (thread_id)
CROSS JOIN LATERAL (
    SELECT 1 FROM checkpoints c WHERE c.thread_id = w.thread_id LIMIT 1
) AS one;

-- name: heads
-- The last column says whether an id is no UUIDv6: its form is tested id by id, its digits once a
-- thread, since a regular expression for each id costs three times the whole statement.
SELECT w.thread_id, h.head, h.ill_formed OR h.all_ids ~ '[^0-9a-f-]'
FROM unnest(:ids::text[]) AS w (thread_id)
CROSS JOIN LATERAL (
    SELECT
        max(c.checkpoint_id) AS head,
        bool_or(c.checkpoint_id NOT LIKE '________-____-6___-____-____________') AS ill_formed,
        string_agg(c.checkpoint_id, '') AS all_ids
    FROM checkpoints c WHERE c.thread_id = w.thread_id
) AS h WHERE h.head IS NOT NULL;

-- name: times
-- Only for threads that hold an id that is no UUIDv6: the checkpoint's own ts is plain JSON.
SELECT thread_id, checkpoint_id, checkpoint ->> 'ts' FROM checkpoints
WHERE thread_id = ANY(:ids) ORDER BY thread_id;

-- name: head_metadata
-- Chosen values alone leave the server: metadata may be large, and no policy compares an object.
SELECT w.thread_id, k.key, h.metadata -> k.key
FROM unnest(:ids::text[], :heads::text[]) AS w (thread_id, head)
CROSS JOIN LATERAL (
    SELECT c.metadata FROM checkpoints c
    WHERE c.thread_id = w.thread_id AND c.checkpoint_id = w.head LIMIT 1
) AS h
CROSS JOIN unnest(:keys::text[]) AS k (key)
WHERE jsonb_typeof(h.metadata -> k.key) IN ('string', 'number', 'boolean');

-- name: in_index_order
-- Before head_page: without statistics the planner takes the threads for so few that it would
-- rather group them all by hash than read one page of the index.
SELECT set_config('enable_bitmapscan', 'off', true), set_config('enable_hashagg', 'off', true),
    set_config('enable_sort', 'off', true);

-- name: first_head_page
-- Without a bound, so that the empty id is found as well.
SELECT thread_id, max(checkpoint_id) AS head FROM checkpoints
GROUP BY thread_id
HAVING max(checkpoint_id) < :below OR max(checkpoint_id) > :above
ORDER BY thread_id LIMIT :limit;

-- name: head_page
SELECT thread_id, max(checkpoint_id) AS head FROM checkpoints
WHERE thread_id > :after GROUP BY thread_id
HAVING max(checkpoint_id) < :below OR max(checkpoint_id) > :above
ORDER BY thread_id LIMIT :limit;

-- name: holds_any
SELECT EXISTS (SELECT 1 FROM checkpoints) OR EXISTS (SELECT 1 FROM checkpoint_writes);

-- name: in_table_order
-- Before the two below: they read the tables whole, and by an index that takes far longer.
SELECT set_config('enable_seqscan', 'on', true);

-- name: inspect_ids
-- Reads every row once; sizes come from the rows' headers.
SELECT
    count(*),
    count(DISTINCT thread_id),
    coalesce(sum(pg_column_size(checkpoint) + pg_column_size(metadata)), 0)::bigint,
    min(checkpoint_id) FILTER (WHERE datable),
    max(checkpoint_id) FILTER (WHERE datable),
    count(*) FILTER (WHERE NOT datable)
FROM (
    SELECT *, checkpoint_id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-6[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$' AS datable
    FROM checkpoints
) AS c;

-- name: inspect_types
SELECT 'checkpoint_blobs', type, count(*), sum(octet_length(blob))::bigint
FROM checkpoint_blobs GROUP BY type
UNION ALL
SELECT 'checkpoint_writes', type, count(*), sum(octet_length(blob))::bigint
FROM checkpoint_writes GROUP BY type
ORDER BY 1, 2;

-- name: count
SELECT count(*) FROM (SELECT 1 FROM checkpoints GROUP BY thread_id) AS threads;

-- name: parked
-- :idx is where LangGraph keeps writes of this channel (WRITES_IDX_MAP): -3 an interrupt, -1 an error.
-- The primary key answers.
-- A subgraph's question is over once its root moved on: with durability "exit", or after a fork,
-- nothing newer is ever saved in the subgraph's own namespace.
SELECT w.thread_id FROM unnest(:ids::text[]) AS w (thread_id)
CROSS JOIN LATERAL (
    SELECT 1 FROM checkpoint_writes cw
    WHERE cw.thread_id = w.thread_id AND cw.idx = :idx AND cw.channel = :channel
        AND cw.checkpoint_id = (
            SELECT max(c.checkpoint_id) FROM checkpoints c
            WHERE c.thread_id = cw.thread_id AND c.checkpoint_ns = cw.checkpoint_ns
        )
        AND cw.checkpoint_id >= coalesce((
            SELECT max(r.checkpoint_id) FROM checkpoints r
            WHERE r.thread_id = cw.thread_id AND r.checkpoint_ns = ''
        ), '')
    LIMIT 1
) AS one;

-- name: sizes
-- From the rows' headers: no value is read.
SELECT w.thread_id, (
    SELECT coalesce(sum(pg_column_size(c.checkpoint) + pg_column_size(c.metadata)), 0)
    FROM checkpoints c WHERE c.thread_id = w.thread_id
) + (
    SELECT coalesce(sum(octet_length(b.blob)), 0)
    FROM checkpoint_blobs b WHERE b.thread_id = w.thread_id
) + (
    SELECT coalesce(sum(octet_length(cw.blob)), 0)
    FROM checkpoint_writes cw WHERE cw.thread_id = w.thread_id
) FROM unnest(:ids::text[]) AS w (thread_id);

-- name: holdings
SELECT (SELECT count(*) FROM checkpoints WHERE thread_id = :thread_id),
    (SELECT count(*) FROM checkpoint_blobs WHERE thread_id = :thread_id),
    (SELECT count(*) FROM checkpoint_writes WHERE thread_id = :thread_id);

-- name: erase
-- One statement, hence one snapshot: see delete.
WITH c AS (
    DELETE FROM checkpoints WHERE thread_id = :thread_id RETURNING 1
), b AS (
    DELETE FROM checkpoint_blobs WHERE thread_id = :thread_id RETURNING 1
), w AS (
    DELETE FROM checkpoint_writes WHERE thread_id = :thread_id RETURNING 1
)
SELECT (SELECT count(*) FROM c), (SELECT count(*) FROM b), (SELECT count(*) FROM w);

-- name: delete
-- One statement, hence one snapshot. What a stock saver, which takes no lock, commits before it
-- shows in the head: the thread is left alone. What it commits after it stays whole, be it a late
-- write for the look again or a new conversation. Deletes of their own would take a checkpoint
-- without its blobs, or blobs without their checkpoint.
WITH still AS MATERIALIZED (
    SELECT w.thread_id FROM unnest(:ids::text[], :heads::text[]) AS w (thread_id, head)
    CROSS JOIN LATERAL (
        SELECT max(c.checkpoint_id) AS head FROM checkpoints c WHERE c.thread_id = w.thread_id
    ) AS h WHERE h.head = w.head
), c AS (
    DELETE FROM checkpoints WHERE thread_id = ANY(ARRAY(SELECT thread_id FROM still))
), b AS (
    DELETE FROM checkpoint_blobs WHERE thread_id = ANY(ARRAY(SELECT thread_id FROM still))
), w AS (
    DELETE FROM checkpoint_writes WHERE thread_id = ANY(ARRAY(SELECT thread_id FROM still))
)
SELECT thread_id FROM still;

-- name: delete_as_planned
-- The same, of threads that a look would tell no more of than the plan did: the head has not moved,
-- no id needs a date from its checkpoint, no row of ours names the thread. So it is no look of its own.
WITH still AS MATERIALIZED (
    SELECT w.thread_id FROM unnest(:ids::text[], :heads::text[]) AS w (thread_id, head)
    CROSS JOIN LATERAL (
        SELECT
            max(c.checkpoint_id) AS head,
            bool_and(c.checkpoint_id LIKE '________-____-6___-____-____________') AS well_formed,
            string_agg(c.checkpoint_id, '') AS all_ids
        FROM checkpoints c WHERE c.thread_id = w.thread_id
    ) AS h
    WHERE h.head = w.head AND h.well_formed AND h.all_ids !~ '[^0-9a-f-]'
        AND (SELECT 1 FROM retention_threads t WHERE t.thread_id = w.thread_id) IS NULL
        AND (SELECT 1 FROM retention_asks a WHERE a.thread_id = w.thread_id LIMIT 1) IS NULL
        AND (SELECT 1 FROM retention_barriers b WHERE b.thread_id = w.thread_id LIMIT 1) IS NULL
), c AS (
    DELETE FROM checkpoints WHERE thread_id = ANY(ARRAY(SELECT thread_id FROM still))
), b AS (
    DELETE FROM checkpoint_blobs WHERE thread_id = ANY(ARRAY(SELECT thread_id FROM still))
), w AS (
    DELETE FROM checkpoint_writes WHERE thread_id = ANY(ARRAY(SELECT thread_id FROM still))
)
SELECT thread_id FROM still;

-- name: remnants_from_head
-- Begins at the head: from the thread's first entry on, the scan would visit every dead index entry
-- of the delete. The row comparison is what makes it begin there with one descent of the index.
SELECT w.thread_id FROM unnest(:ids::text[], :heads::text[]) AS w (thread_id, head)
CROSS JOIN LATERAL (
    SELECT 1 FROM checkpoints c
    WHERE c.thread_id = w.thread_id AND (c.checkpoint_ns, c.checkpoint_id) >= ('', w.head)
    ORDER BY c.thread_id, c.checkpoint_ns, c.checkpoint_id LIMIT 1
) AS one
UNION ALL
SELECT w.thread_id FROM unnest(:ids::text[], :heads::text[]) AS w (thread_id, head)
CROSS JOIN LATERAL (
    SELECT 1 FROM checkpoint_writes cw
    WHERE cw.thread_id = w.thread_id AND (cw.checkpoint_ns, cw.checkpoint_id) >= ('', w.head)
    ORDER BY cw.thread_id, cw.checkpoint_ns, cw.checkpoint_id LIMIT 1
) AS one;

-- name: remnants
SELECT w.thread_id FROM unnest(:ids::text[]) AS w (thread_id)
CROSS JOIN LATERAL (
    SELECT 1 FROM checkpoints c WHERE c.thread_id = w.thread_id LIMIT 1
) AS one
UNION ALL
SELECT w.thread_id FROM unnest(:ids::text[]) AS w (thread_id)
CROSS JOIN LATERAL (
    SELECT 1 FROM checkpoint_writes cw WHERE cw.thread_id = w.thread_id LIMIT 1
) AS one;

-- name: skeleton
-- The last column is the root graph's checkpoint that called a subgraph; metadata is plain JSON.
SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, metadata -> 'parents' ->> ''
FROM checkpoints
WHERE thread_id = :thread_id;

-- name: skeleton_writes
SELECT checkpoint_ns, checkpoint_id, count(*) FROM checkpoint_writes
WHERE thread_id = :thread_id GROUP BY checkpoint_ns, checkpoint_id;

-- name: delete_dead_checkpoints
DELETE FROM checkpoints c USING unnest(:spaces::text[], :ids::text[]) AS d (ns, id)
WHERE c.thread_id = :thread_id AND c.checkpoint_ns = d.ns AND c.checkpoint_id = d.id;

-- name: delete_dead_writes
DELETE FROM checkpoint_writes w USING unnest(:spaces::text[], :ids::text[]) AS d (ns, id)
WHERE w.thread_id = :thread_id AND w.checkpoint_ns = d.ns AND w.checkpoint_id = d.id;

-- name: delete_dead_blobs
-- Blobs are shared by checkpoints: those stay that one of a new thread under the id refers to.
DELETE FROM checkpoint_blobs b WHERE b.thread_id = :thread_id AND NOT EXISTS (
    SELECT 1 FROM checkpoints c
    WHERE c.thread_id = b.thread_id AND c.checkpoint_ns = b.checkpoint_ns
        AND c.checkpoint -> 'channel_versions' ->> b.channel = b.version
);
