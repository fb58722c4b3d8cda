-- Jobs with a key of which there is one in a queue at a time; and keys that outlive their jobs.

set local search_path = pg_catalog, pg_temp;

alter table pgdisque.job
    add column unique_key bytea check (length(unique_key) between 1 and 512),
    -- Until then the key stays taken, whatever becomes of the job.
    add column unique_until timestamptz;

-- No claim changes any of its columns: it does not end heap-only updates.
create unique index job_unique on pgdisque.job (queue_id, unique_key)
where unique_key is not null;

create table pgdisque.unique_key (
    -- The job that took the key last, as its ID needs it.
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
