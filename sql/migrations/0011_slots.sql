--! breaking
-- Limits on how many jobs of a queue run at once: QCONFIG max-active.

set local search_path = pg_catalog, pg_temp;

-- Which slot of its queue the job was given out in last; null: none. It holds that as long as the slot says so, too.
alter table pgdisque.job
    add column slot integer;

create table pgdisque.slot (
    -- The job that was given out in it last.
    id       bigint,
    -- Grows whenever the slot is given to a job.
    turn     bigint not null default 0,
    queue_id integer not null,
    n        integer not null,
    rank     smallint,
    primary key (queue_id, n)
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0);
