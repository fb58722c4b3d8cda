-- Lets vacuum sleep between pages.

set local search_path = pg_catalog, pg_temp;

-- While an old snapshot keeps the dead rows, each pass of vacuum reads all of them and removes none. Without sleep, the
-- passes took a third of a processor after ten minutes. The limit still allows 12,000 changed pages a second with the
-- default costs of Postgres, which is more than a server makes.
alter table pgdisque.batch set (autovacuum_vacuum_cost_delay = 2, autovacuum_vacuum_cost_limit = 500);
alter table pgdisque.bucket set (autovacuum_vacuum_cost_delay = 2, autovacuum_vacuum_cost_limit = 500);
alter table pgdisque.commit_marker set (autovacuum_vacuum_cost_delay = 2, autovacuum_vacuum_cost_limit = 500);
alter table pgdisque.dependency set (autovacuum_vacuum_cost_delay = 2, autovacuum_vacuum_cost_limit = 500);
alter table pgdisque.flow_job set (autovacuum_vacuum_cost_delay = 2, autovacuum_vacuum_cost_limit = 500);
alter table pgdisque.job set (autovacuum_vacuum_cost_delay = 2, autovacuum_vacuum_cost_limit = 500);
alter table pgdisque.job_group set (autovacuum_vacuum_cost_delay = 2, autovacuum_vacuum_cost_limit = 500);
alter table pgdisque.library_value set (autovacuum_vacuum_cost_delay = 2, autovacuum_vacuum_cost_limit = 500);
alter table pgdisque.slot set (autovacuum_vacuum_cost_delay = 2, autovacuum_vacuum_cost_limit = 500);
