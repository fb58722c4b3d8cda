--! breaking
-- The schema: queues and their counters, jobs, and the servers that share them.

set local search_path = pg_catalog, pg_temp;

-- ---- servers ----

create table pgdisque.secret (
    -- The key of the cipher in job IDs, so that IDs can be neither guessed nor forged.
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
    started_at timestamptz not null default now(),
    -- The last heartbeat.
    seen_at    timestamptz not null default now(),
    -- Set when the server has signed off.
    left_at    timestamptz,
    -- CLUSTER LEAVING.
    leaving    boolean not null default false
) with (
    -- Room for heartbeats to stay on the page.
    fillfactor = 50
);

-- Numbers the runs of servers. A clock may be set back; a sequence is not.
create sequence pgdisque.node_run;

-- Commit markers: committed transactions, for a server that lost the result.
create table pgdisque.commit_marker (
    node        smallint not null,
    transaction bigint not null,
    primary key (node, transaction)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- ---- queues ----

create table pgdisque.queue (
    id         integer generated always as identity primary key,
    name       bytea not null,
    -- Bit 1: no job may enter. Bit 2: no job may leave.
    pause      smallint not null default 0 check (pause between 0 and 3),
    created_at timestamptz not null default now(),
    -- The consume end of the list of this name: 1 left, 2 right; null: no list command has used it.
    consume_end smallint check (consume_end in (1, 2))
);

-- Indexes the hash, because a name may be longer than an index row can be.
create unique index queue_name on pgdisque.queue (sha256(name));

-- A separate table, because these rows are written once a second, and rows of queue rarely.
create table pgdisque.queue_counter (
    queue_id integer primary key,
    jobs_in  bigint not null default 0,
    jobs_out bigint not null default 0
) with (fillfactor = 50);

-- QCONFIG: a row for each setting that has a value. No foreign key: a queue with settings is not removed.
create table pgdisque.queue_setting (
    queue_id integer not null,
    name     text not null,
    -- As clients write it; numbers are decimal.
    value    bytea not null,
    primary key (queue_id, name)
);

-- ---- jobs ----

-- Fixed columns by falling alignment come first: no padding, and cheap access to what claims read.
create table pgdisque.job (
    -- 41 bits milliseconds since 2020, 10 bits node, 12 bits counter: key order is creation order.
    id             bigint not null,
    -- From this time on the job may be delivered. A time in the future: the job is leased (owner is set) or
    -- delayed.
    ready_at       timestamptz not null,
    expires_at     timestamptz not null,
    -- The time at which the server must handle the row: the end of its delay, then its expiry. Null for jobs
    -- without a delay and with the default time to live: these expire in key order and need no index.
    wake_at        timestamptz,
    -- Begin of the lease, if it does not follow from ready_at and retry: with a back-off, or with seconds of
    -- WORKING.
    leased_at      timestamptz,
    -- The unique key stays taken until then, even if the job has ended.
    unique_until   timestamptz,
    -- Expiry by the job's own time to live, if EXPIRE or PERSIST has changed expires_at. Null: they have not.
    own_expires_at timestamptz,
    queue_id       integer not null,
    -- Postgres parses the text of each CHECK in every statement that writes: six of them took 10 us of each insert
    -- and of each claim. The commands and the functions of api/ check the ranges instead.
    retry          integer not null,
    delay          integer not null default 0,
    deliveries     integer not null default 0,
    nacks          integer not null default 0,
    -- Disque's additional-deliveries, except the last lease, because its end is not written. If ready_at has
    -- passed and owner is set, there is one more.
    additional_deliveries integer not null default 0,
    -- The job is dead after this number of deliveries without an acknowledgement. Null, as in the next two
    -- columns: no limit.
    attempts       integer,
    -- Seconds: the first back-off after a NACK or the end of a lease. Each back-off is twice as long as the one
    -- before.
    backoff        integer,
    -- The slot of its queue in which the job was delivered last; null: none. The job holds the slot as long as
    -- the row of pgdisque.slot names the job.
    slot           integer,
    -- The negative priority, so that ascending keys are the order of delivery.
    rank           smallint not null default 0,
    replicate      smallint not null default 1,
    -- The node that leased the job until ready_at; 0: a client of the SQL functions.
    owner          smallint,
    body           bytea not null,
    -- At most 512 bytes, as is group_key.
    unique_key     bytea,
    -- Jobs of a group wait, except the first: ready_at is infinity, and owner is null.
    group_key      bytea,
    -- The dead-letter queue of the job.
    deadqueue      bytea,
    -- The error that the last NACK named.
    error          bytea,
    -- The client of the SQL functions that took the job; it has no meaning while owner is not 0.
    worker         text,
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

-- No claim changes a column of these indexes: they do not end heap-only updates.
create index job_wake on pgdisque.job (wake_at)
where wake_at is not null;

create unique index job_unique on pgdisque.job (queue_id, unique_key)
where unique_key is not null;

create index job_in_group on pgdisque.job (queue_id, group_key, rank, id)
where group_key is not null;

-- Numbers for the ids of jobs that SQL functions add. They have node 0.
create sequence pgdisque.sql_job as bigint;

-- ADDJOB UNIQUE ... FOR: keys that outlive their jobs.
create table pgdisque.unique_key (
    -- The last job that took the key; its ID is made from these columns.
    id         bigint not null,
    expires_at timestamptz not null,
    until      timestamptz not null,
    queue_id   integer not null,
    retry      integer not null,
    rank       smallint not null,
    key        bytea not null,
    primary key (queue_id, key)
);

create index unique_key_until on pgdisque.unique_key (until);

-- ADDJOB GROUP: jobs of a group run one after the other, or several at once with QCONFIG per-group.
create table pgdisque.job_group (
    -- The first job: while it exists, no other job of the group is released.
    id         bigint,
    -- Grows whenever a server examines the group in order to release a job.
    turn       bigint not null default 0,
    used_at    timestamptz not null default clock_timestamp(),
    -- With a rate: the tokens at settled_at, and when the next token comes if jobs wait for it.
    tokens     double precision,
    settled_at timestamptz,
    next_at    timestamptz,
    queue_id   integer not null,
    rank       smallint,
    key        bytea not null,
    -- With per-group: the further released jobs.
    ranks      smallint[],
    ids        bigint[],
    primary key (queue_id, key)
) with (
    fillfactor = 50,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0.1,
    autovacuum_vacuum_cost_delay = 0
);

-- QCONFIG max-active: a row for each job of a queue that may run at once.
create table pgdisque.slot (
    -- The job that was last delivered in the slot.
    id       bigint,
    -- Grows whenever the slot is given to a job.
    turn     bigint not null default 0,
    queue_id integer not null,
    n        integer not null,
    rank     smallint,
    primary key (queue_id, n)
) with (
    fillfactor = 50,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_cost_delay = 0
);

-- QCONFIG rate: the token bucket of a queue.
create table pgdisque.bucket (
    tokens     double precision not null default 0,
    -- The time at which tokens had this value. Later tokens are computed from it.
    settled_at timestamptz not null default clock_timestamp(),
    queue_id   integer primary key
) with (
    fillfactor = 50,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_cost_delay = 0
);

-- SCHEDULE: recurring jobs.
create table pgdisque.schedule (
    id        bigint generated always as identity primary key,
    -- Grows with every SCHEDULE of the name. A server that has read an older revision fires no tick.
    revision  bigint not null default 1,
    -- The next tick, and the last tick that made jobs.
    next_at   timestamptz not null,
    last_at   timestamptz,
    maxlen    bigint,
    retry     integer not null,
    ttl       integer not null,
    delay     integer not null,
    attempts  integer,
    backoff   integer,
    priority  smallint not null,
    -- Ticks that passed while no server ran: 0 skip, 1 fire once, 2 fire all.
    missed    smallint not null,
    -- False: schedule() in SQL made the row, next_at is the time of that, and a server computes the first tick.
    has_tick  boolean not null default true,
    cron      text not null,
    name      bytea not null,
    queue     bytea not null,
    body      bytea not null,
    deadqueue bytea
) with (fillfactor = 50, autovacuum_vacuum_threshold = 200);

-- Indexes the hash, because a name may be longer than an index row can be.
create unique index schedule_name on pgdisque.schedule (sha256(name));
create index schedule_next on pgdisque.schedule (next_at);

-- ---- ended jobs ----

-- A separate table, so that statements about living jobs do not pass over dead jobs, which may be many.
create table pgdisque.dead_job (
    id         bigint not null,
    died_at    timestamptz not null,
    expires_at timestamptz not null,
    queue_id   integer not null,
    retry      integer not null,
    delay      integer not null,
    deliveries integer not null,
    nacks      integer not null,
    additional_deliveries integer not null,
    attempts   integer not null,
    backoff    integer,
    rank       smallint not null,
    replicate  smallint not null,
    error      bytea,
    unique_key bytea,
    body       bytea not null,
    constraint dead_pkey primary key (queue_id, rank, id)
) with (
    vacuum_truncate = off,
    autovacuum_vacuum_scale_factor = 0.1,
    toast.vacuum_truncate = off
);

-- QCONFIG deadqueue. Each change increments the version, so that the second of two concurrent changes notices
-- the first.
create table pgdisque.deadqueue_graph (
    version  bigint not null default 0,
    only_row boolean primary key default true check (only_row)
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000);

insert into pgdisque.deadqueue_graph default values;

-- QCONFIG retention: retained jobs, in tables that are emptied as a whole. The bucket of a job is its table:
-- retain_jobs.sql. The tables are never dropped, because creating and dropping tables bloats the catalog and
-- locks all of them.
create table pgdisque.retained (
    id          bigint not null,
    finished_at timestamptz not null,
    keep_until  timestamptz not null,
    -- As in the job, because the ID contains it.
    expires_at  timestamptz not null,
    queue_id    integer not null,
    retry       integer not null,
    delay       integer not null,
    deliveries  integer not null,
    nacks       integer not null,
    additional_deliveries integer not null,
    rank        smallint not null,
    replicate   smallint not null,
    bucket      smallint not null,
    -- The client that acknowledged it: the number of its server and its name there, or 0 for SQL.
    node        smallint not null,
    worker      text not null,
    error       bytea,
    result      bytea,
    body        bytea not null,
    primary key (queue_id, rank, id, bucket)
) partition by list (bucket);

do $$
begin
    begin
        alter table pgdisque.job alter column body set compression lz4;
        alter table pgdisque.dead_job alter column body set compression lz4;
        alter table pgdisque.retained
            alter column body set compression lz4,
            alter column result set compression lz4;
    exception
        -- A server built without lz4 compresses with pglz.
        when feature_not_supported then null;
    end;
    -- No row is updated or deleted here, so vacuum has nothing to do before a table is emptied.
    for bucket in 0..27 loop
        execute format(
            'create table pgdisque.retained_%s partition of pgdisque.retained for values in (%s) '
            'with (autovacuum_enabled = off, toast.autovacuum_enabled = off)', bucket, bucket);
    end loop;
end
$$;

-- ---- the functions for applications ----

create table pgdisque.api (
    -- Digest of the text of api/ that was run last.
    digest   text not null,
    -- The OID of the schema at that time. It differs after a restore.
    schema   oid not null,
    only_row boolean primary key default true check (only_row),
    -- Version of the functions. An older server does not replace newer functions.
    version  integer not null default 0
);

-- Numbers the messages from SQL functions to the servers, so that each message counts once.
create sequence pgdisque.sql_message as bigint;

-- A job before its change, with the columns that servers need.
create type pgdisque.changed_job as (
    queue_id integer,
    rank     smallint,
    id       bigint,
    ready_at timestamptz,
    wake_at  timestamptz,
    owner    smallint,
    retry    integer,
    -- True if the job is exhausted.
    last     boolean,
    -- The end of its new lease or delay. Null: it is queued.
    next_at  timestamptz
);
