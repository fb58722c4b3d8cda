--! breaking
-- Finished jobs that their queues keep for a while (QCONFIG retention), in tables that are emptied as a whole.

set local search_path = pg_catalog, pg_temp;

-- Which of the tables a job goes to is said by its bucket: finish_jobs.sql. The tables are these for ever: to make
-- and drop them as time goes by would bloat the catalog and lock all of them.
create table pgdisque.finished (
    id          bigint not null,
    finished_at timestamptz not null,
    keep_until  timestamptz not null,
    -- As the job had it: its ID is made of that.
    expires_at  timestamptz not null,
    queue_id    integer not null,
    retry       integer not null,
    delay       integer not null,
    deliveries  integer not null,
    nacks       integer not null,
    extras      integer not null,
    rank        smallint not null,
    replicate   smallint not null,
    bucket      smallint not null,
    -- Who said that it is done: a server's number and what the client is called there, or 0 for SQL.
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
        alter table pgdisque.finished
            alter column body set compression lz4,
            alter column result set compression lz4;
    exception
        -- A server built without lz4 compresses with pglz.
        when feature_not_supported then null;
    end;
    -- Nothing is updated or deleted here, so there is nothing to vacuum before a table is emptied.
    for bucket in 0..27 loop
        execute format(
            'create table pgdisque.finished_%s partition of pgdisque.finished for values in (%s) '
            'with (autovacuum_enabled = off, toast.autovacuum_enabled = off)', bucket, bucket);
    end loop;
end
$$;
