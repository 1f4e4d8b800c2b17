-- A role that only looks, on PostgreSQL: `retention sweep run --dry-run`, `sweep status`, `sweep history`, and `store adopt`
-- without --yes. The owner of the checkpoint tables runs this with psql, as often as new tables are made:
--
--   psql -v role=retention_reader -v schema=public -f reader-role.sql postgresql://owner@host/agents
--
-- It may read what threads hold: `store adopt` asks for the sizes of values, and PostgreSQL has no right to those alone.
\set ON_ERROR_STOP on
\if :{?role}
\else
    \set role retention_reader
\endif
\if :{?schema}
\else
    \set schema public
\endif

BEGIN;

SELECT format('CREATE ROLE %I LOGIN', :'role')
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = :'role') \gexec

GRANT USAGE ON SCHEMA :"schema" TO :"role";
-- A store that stock savers wrote has no tables of ours before it is adopted: those that exist are granted.
SELECT format('GRANT SELECT ON %I.%I TO %I', schemaname, tablename, :'role')
FROM pg_catalog.pg_tables
WHERE schemaname = :'schema' AND tablename IN (
    'checkpoints', 'checkpoint_blobs', 'checkpoint_writes',
    'retention_threads', 'retention_runs', 'retention_batches', 'retention_totals', 'retention_format',
    'retention_pauses', 'retention_asks', 'retention_barriers'
) \gexec

COMMIT;
