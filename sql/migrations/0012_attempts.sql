--! breaking
-- Jobs that may be delivered only so often, and wait longer from time to time; and those that are dead.

set local search_path = pg_catalog, pg_temp;

-- All of them null for jobs that ask for none of it, which costs nothing.
alter table pgdisque.job
    -- After so many deliveries without an acknowledgement the job is dead.
    add column attempts integer check (attempts > 0),
    -- Seconds: the first wait after a NACK or the end of a lease; each one is twice as long as the one before.
    add column backoff integer check (backoff > 0),
    -- When the lease began, where its end does not tell: with a backoff, or a time of WORKING's own.
    add column leased_at timestamptz,
    -- The name of the queue to which the dead job goes.
    add column deadqueue bytea,
    -- What the last NACK said.
    add column error bytea;

-- A table of its own: the dead are many in bad times, and no statement about living jobs passes over them.
create table pgdisque.dead (
    id         bigint not null,
    died_at    timestamptz not null,
    expires_at timestamptz not null,
    queue_id   integer not null,
    retry      integer not null,
    delay      integer not null,
    deliveries integer not null,
    nacks      integer not null,
    extras     integer not null,
    attempts   integer not null,
    backoff    integer,
    rank       smallint not null,
    replicate  smallint not null,
    error      bytea,
    unique_key bytea,
    body       bytea not null,
    primary key (queue_id, rank, id)
) with (
    vacuum_truncate = off,
    autovacuum_vacuum_scale_factor = 0.1,
    toast.vacuum_truncate = off
);

do $$
begin
    alter table pgdisque.dead alter column body set compression lz4;
exception
    when feature_not_supported then null;
end
$$;

-- As it was: it has had its last attempt; and until when the lease or delay goes that it has now, null: queued.
alter type pgdisque.changed_job
    add attribute last boolean,
    add attribute next_at timestamptz;
