--! breaking
-- What the functions for SQL need (api.sql): numbers, who holds a job, and which version of them is there.

set local search_path = pg_catalog, pg_temp;

-- Jobs that SQL adds have node 0 and a counter from here.
create sequence pgdisque.sql_job as bigint;

-- Of what SQL tells the servers: so that each message counts once.
create sequence pgdisque.sql_message as bigint;

-- Who took the job by SQL; says nothing while owner is not 0.
alter table pgdisque.job
    add column worker text;

create table pgdisque.api (
    -- Of the text of api.sql that was run last.
    digest   text not null,
    -- The number that the schema had then: another one after a restore.
    schema   oid not null,
    only_row boolean primary key default true check (only_row)
);

-- A job as it was before it was changed, as far as servers are told.
create type pgdisque.changed_job as (
    queue_id integer,
    rank     smallint,
    id       bigint,
    ready_at timestamptz,
    wake_at  timestamptz,
    owner    smallint,
    retry    integer
);
