-- Begins the migration: one server at a time. A server that waited for the lock must see the changes of the
-- other server. The wait ends before the server gives up its connection, so that no session stays behind. Citus
-- must not copy the schema to other nodes, because the schema belongs to this node. A migration waits shortly for its
-- locks, because other sessions wait behind it. The server tries again.
begin isolation level read committed;

set local search_path = pg_catalog, pg_temp;

set local lock_timeout = '8s';

select
    set_config('citus.enable_ddl_propagation', 'off', true),
    set_config('citus.use_citus_managed_tables', 'off', true)
from pg_extension as e
where e.extname = 'citus';

select pg_advisory_xact_lock(7711, 1);

set local lock_timeout = '2s';
