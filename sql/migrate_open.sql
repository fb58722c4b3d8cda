-- Begins the migration: one server at a time. A server that waited for the lock must see the changes of the
-- other server.
begin isolation level read committed;

set local search_path = pg_catalog, pg_temp;

select pg_advisory_xact_lock(7711, 1);
