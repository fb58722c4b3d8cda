--! breaking
-- Jobs of one group run strictly one after another: ADDJOB GROUP.

set local search_path = pg_catalog, pg_temp;

-- All but the first of a group wait: ready_at is infinity, and nobody is the owner.
alter table pgdisque.job
    add column group_key bytea check (length(group_key) between 1 and 512);

-- No claim changes any of its columns: it does not end heap-only updates.
create index job_in_group on pgdisque.job (queue_id, group_key, rank, id)
where group_key is not null;

create table pgdisque.job_group (
    -- Its first job: while that is there no other one is let go.
    id       bigint,
    -- Grows whenever somebody has looked at the group in order to let one go.
    turn     bigint not null default 0,
    used_at  timestamptz not null default clock_timestamp(),
    queue_id integer not null,
    rank     smallint,
    key      bytea not null,
    primary key (queue_id, key)
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.1, autovacuum_vacuum_cost_delay = 0);
