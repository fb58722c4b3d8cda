-- Jobs that recur: SCHEDULE.

set local search_path = pg_catalog, pg_temp;

create table pgdisque.schedule (
    id       bigint generated always as identity primary key,
    -- Grows with every SCHEDULE of the name: what was read before that fires nothing any more.
    revision bigint not null default 1,
    -- The next tick, and the last one that made jobs.
    next_at  timestamptz not null,
    last_at  timestamptz,
    maxlen   bigint,
    retry    integer not null,
    ttl      integer not null,
    delay    integer not null,
    priority smallint not null,
    -- What becomes of ticks that nobody was there for: 0 skip, 1 once, 2 all.
    missed   smallint not null,
    cron     text not null,
    name     bytea not null,
    queue    bytea not null,
    body     bytea not null
) with (fillfactor = 50, autovacuum_vacuum_threshold = 200);

-- Of the hash, because a name may be longer than an index row can be.
create unique index schedule_name on pgdisque.schedule (sha256(name));
create index schedule_next on pgdisque.schedule (next_at);
