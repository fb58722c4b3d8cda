-- Reads the options of a session that restores the schema. Citus must not copy the schema to other nodes.
-- returns: options, one row
select coalesce(
    min('-c citus.enable_ddl_propagation=off -c citus.use_citus_managed_tables=off'), '') as options
from pg_extension as e
where e.extname = 'citus'
