-- Keys of client libraries such as Sidekiq: the sorted set of a delayed or dead job, and small values.

set local search_path = pg_catalog, pg_temp;

-- The sorted set in which a library sees the job until it is due.
alter table pgdisque.job add column sorted_set text;
alter table pgdisque.dead_job add column sorted_set text;

create index job_in_set on pgdisque.job (sorted_set, wake_at, id) where sorted_set is not null;
-- The predicate keeps the other searches from these indexes, and the search for a body from the indexes above.
create index job_member on pgdisque.job (sha256(body)) where coalesce(sorted_set, '') > '';
create index dead_in_set on pgdisque.dead_job (sorted_set, died_at, id) where sorted_set is not null;
create index dead_member on pgdisque.dead_job (sha256(body)) where coalesce(sorted_set, '') > '';

-- Strings, hashes and sets. A string has one field without a name. The fields of a set are its members.
create table pgdisque.library_value (
    expires_at timestamptz not null default 'infinity',
    key        bytea       not null,
    field      bytea       not null,
    value      bytea       not null,
    primary key (key, field)
) with (
    fillfactor = 50,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0.1,
    autovacuum_vacuum_cost_delay = 0
);

create index library_value_expires on pgdisque.library_value (expires_at) where expires_at < 'infinity';
