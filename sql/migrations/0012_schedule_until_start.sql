-- Schedules whose unique key is free once their job was delivered.

set local search_path = pg_catalog, pg_temp;

-- SCHEDULE UNTIL START. Null: the key is taken until the job has gone.
alter table pgdisque.schedule add column unique_start boolean;
