-- The transaction of soak_snapshot now also locks our tables, as pg_dump does for a whole backup.
do $$
declare
    named name;
begin
    for named in select t.tablename from pg_tables as t where t.schemaname = 'pgdisque' loop
        execute format('lock table pgdisque.%I in access share mode', named);
    end loop;
end
$$;
