--! breaking
-- Limits on how many jobs of a queue are delivered a second: QCONFIG rate.

set local search_path = pg_catalog, pg_temp;

create table pgdisque.bucket (
    tokens     double precision not null default 0,
    -- How many there were then; since then more have come.
    settled_at timestamptz not null default clock_timestamp(),
    queue_id   integer primary key
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 0);
