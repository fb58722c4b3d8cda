-- Dead letters: jobs without a limit of attempts that expired, and jobs that QCONFIG dead-retention deletes.

set local search_path = pg_catalog, pg_temp;

alter table pgdisque.dead_job alter column attempts drop not null;

-- The first column is an expression, so that Postgres does not use the index for statements that name keys.
create index dead_died on pgdisque.dead_job ((queue_id::bigint), died_at);
