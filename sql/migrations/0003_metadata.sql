-- Metadata of jobs. All columns are null for plain jobs.

set local search_path = pg_catalog, pg_temp;

alter table pgdisque.job
    -- ADDJOB HEADER: an object of strings.
    add column headers jsonb,
    -- WORKING PROGRESS: the object {"percent", "text", "at"}; times in milliseconds since 1970.
    add column progress jsonb,
    -- The last failures, the oldest first: an array of {"at", "attempt", "error"}.
    add column errors jsonb;

alter table pgdisque.dead_job
    add column headers jsonb,
    add column progress jsonb,
    add column errors jsonb;

alter table pgdisque.retained
    add column headers jsonb,
    add column progress jsonb,
    add column errors jsonb;
