-- Finds tables of the schema that Citus manages. Its planner refuses some statements of the server, and the commit
-- of a session that ends can still arrive at another node.
-- returns: finding, advice; one row, or none
select
    format('Citus manages %s of the tables of schema pgdisque', count(*)) as finding,
    'back up with pgdisque backup, drop the schema, restore, and do not distribute it' as advice
from pg_class as c
join pg_trigger as t on t.tgrelid = c.oid
join pg_proc as p on p.oid = t.tgfoid
where c.relnamespace = to_regnamespace('pgdisque')
  and p.pronamespace = 'pg_catalog'::regnamespace
  and p.proname = 'citus_truncate_trigger'
having count(*) > 0
