--! breaking
-- Which queues' dead jobs go where: QCONFIG deadqueue.

set local search_path = pg_catalog, pg_temp;

-- Grows with every change, so that of two changes at once one sees the other.
create table pgdisque.dead_path (
    version  bigint not null default 0,
    only_row boolean primary key default true check (only_row)
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000);

insert into pgdisque.dead_path default values;

-- The other name is that of the view for applications.
alter table pgdisque.dead rename to dead_job;
