-- The schema: queues, their counters, jobs, and the servers that share them.

set local search_path = pg_catalog, pg_temp;

create table pgdisque.secret (
    -- Keys the MAC in job IDs, so that they can be neither guessed nor forged.
    key bytea not null check (length(key) = 16),
    only_row boolean primary key default true check (only_row)
);

-- gen_random_uuid() draws from the strong generator; 122 of its 128 bits are random.
insert into pgdisque.secret (key)
values (uuid_send(gen_random_uuid()));

create table pgdisque.node (
    number     smallint primary key check (number between 1 and 1023),
    id         text not null unique check (id ~ '^[0-9a-f]{40}$'),
    addr       text not null default '',
    port       integer not null default 0,
    started_at timestamptz not null default now()
);

create table pgdisque.queue (
    id         integer generated always as identity primary key,
    name       bytea not null,
    -- Bit 1: no job may enter. Bit 2: no job may leave.
    pause      smallint not null default 0 check (pause between 0 and 3),
    created_at timestamptz not null default now()
);

-- Of the hash, because a name may be longer than an index row can be.
create unique index queue_name on pgdisque.queue (sha256(name));

-- Apart from queue, because these rows are written once a second and queue rows hardly ever.
create table pgdisque.queue_counter (
    queue_id integer primary key,
    jobs_in  bigint not null default 0,
    jobs_out bigint not null default 0
) with (fillfactor = 50);

-- Columns by falling alignment, the body last: no padding, and cheap access to what claims read.
create table pgdisque.job (
    -- 41 bits milliseconds since 2020, 10 bits node, 12 bits counter: key order is creation order.
    id         bigint not null,
    -- From then on the job may be delivered. In the future: it is leased (owner is set) or delayed.
    ready_at   timestamptz not null,
    expires_at timestamptz not null,
    -- When the clock has to look at the row: when its delay ends, then when it expires. Null for jobs
    -- with neither a delay nor a TTL of their own: these expire in key order and need no index.
    wake_at    timestamptz,
    queue_id   integer not null,
    retry      integer not null check (retry >= 0),
    delay      integer not null default 0 check (delay >= 0),
    deliveries integer not null default 0,
    nacks      integer not null default 0,
    -- Disque's additional-deliveries, but for the last lease, whose end is not written down:
    -- when ready_at has passed and owner is still set, it counts one more.
    extras     integer not null default 0,
    -- Minus the priority, so that ascending keys are the order of delivery.
    rank       smallint not null default 0,
    replicate  smallint not null default 1,
    -- The node that leased the job until ready_at.
    owner      smallint,
    body       bytea not null,
    -- No foreign key to queue: it would lock the queue's row for every job.
    primary key (queue_id, rank, id)
) with (
    -- Room for the HOT update of a claim, which touches no indexed column.
    fillfactor = 50,
    vacuum_truncate = off,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0,
    autovacuum_vacuum_insert_scale_factor = 0.2,
    toast.vacuum_truncate = off
);

create index job_wake on pgdisque.job (wake_at)
where wake_at is not null;

do $$
begin
    alter table pgdisque.job alter column body set compression lz4;
exception
    -- A server built without lz4 compresses with pglz.
    when feature_not_supported then null;
end
$$;
