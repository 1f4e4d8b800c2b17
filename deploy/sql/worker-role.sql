-- The role of the sweep worker on PostgreSQL, with the rights it needs and no others. The owner of the checkpoint tables
-- runs this with psql, after `retention store init` or `retention store adopt --yes` made the tables:
--
--   psql -v role=retention_worker -v schema=public -f worker-role.sql postgresql://owner@host/agents
--
-- Running it again, or over a role that had more rights on these tables, leaves exactly these. A role that is missing is
-- made without a password: set one with \password. Where the tables are not in the schema public, the worker's address
-- names theirs: postgresql://...?options=-csearch_path%3Dagents
\set ON_ERROR_STOP on
\if :{?role}
\else
    \set role retention_worker
\endif
\if :{?schema}
\else
    \set schema public
\endif

BEGIN;

SELECT format('CREATE ROLE %I LOGIN', :'role')
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = :'role') \gexec

GRANT USAGE ON SCHEMA :"schema" TO :"role";
SET LOCAL search_path = :"schema";
REVOKE ALL ON checkpoints, checkpoint_blobs, checkpoint_writes FROM :"role";
REVOKE ALL ON retention_asks, retention_barriers FROM :"role";
REVOKE ALL ON retention_threads, retention_runs, retention_batches, retention_totals, retention_format, retention_pauses
    FROM :"role";

-- Checkpoints are deleted and never written. Of blobs and writes the worker reads which there are, never what they hold;
-- a checkpoint's JSON dates one whose id holds no time, and names the blobs it needs.
GRANT SELECT, DELETE ON checkpoints TO :"role";
GRANT DELETE, SELECT (thread_id, checkpoint_ns, channel, version) ON checkpoint_blobs TO :"role";
GRANT DELETE, SELECT (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel)
    ON checkpoint_writes TO :"role";

-- What owners and operators say of threads is theirs to write; a deleted thread's goes with it.
-- The mark of a thread that did not go whole is put back, and nothing else of it.
GRANT SELECT, DELETE, INSERT (thread_id, marked_at, due_at) ON retention_threads TO :"role";
-- What parked runs wait for goes with their thread, and long after its deadline.
GRANT SELECT, DELETE ON retention_asks, retention_barriers TO :"role";
-- The run log, which old runs leave, and the totals, which nothing leaves.
GRANT SELECT, INSERT, UPDATE, DELETE ON retention_runs, retention_batches TO :"role";
GRANT SELECT, INSERT, UPDATE ON retention_totals TO :"role";
-- A pause is an operator's to place; the worker takes one off that lapsed.
GRANT SELECT, INSERT, UPDATE, DELETE ON retention_pauses TO :"role";
-- Recorded on the first use of an empty store; whoever may change it is the owner.
GRANT SELECT, INSERT ON retention_format TO :"role";

COMMIT;
