-- Begins the migration: one server at a time, and the table that remembers what was done.
-- returns: version, breaking of what was applied
-- A server that waited for the lock must see what the other one did.
begin isolation level read committed;

select pg_catalog.pg_advisory_xact_lock(7711, 1);

-- Who may not make them can still run on what somebody else has made.
do $$
begin
    if pg_catalog.to_regnamespace('pgdisque') is null then
        create schema pgdisque;
    end if;
    if pg_catalog.to_regclass('pgdisque.migration') is null then
        create table pgdisque.migration (
            version    integer primary key,
            name       text not null,
            breaking   boolean not null,
            applied_at timestamptz not null default pg_catalog.now()
        );
    end if;
end
$$;

select m.version, m.breaking
from pgdisque.migration as m
order by m.version;
