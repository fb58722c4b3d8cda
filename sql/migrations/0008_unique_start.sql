-- Unique keys that are taken until the first delivery of the job.

set local search_path = pg_catalog, pg_temp;

-- ADDJOB UNTIL START: the key is free once the job was delivered. Null: the key is taken until the job has gone.
alter table pgdisque.job add column unique_start boolean;
