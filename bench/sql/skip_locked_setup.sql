-- The table of a plain queue in Postgres, as it is usually made: the measure that bench/run compares with.
create table plain_job (
    id bigint generated always as identity primary key,
    queue text not null,
    body bytea not null,
    claimed_at timestamptz
);

create index plain_job_ready on plain_job (queue, id) where claimed_at is null;
