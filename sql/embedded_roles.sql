-- Makes the roles of the embedded Postgres, and gives the schema to the role of the server. Runs in single-user mode
-- as the superuser that initdb made. A second run changes nothing.
set search_path = pg_catalog, pg_temp;

-- Earlier servers used the superuser themselves. A session cannot rename its own role.
do $$
begin
    if (select r.rolname from pg_roles as r where r.oid = 10) = 'pgdisque' then
        create role pgdisque_setup superuser;
        set session authorization pgdisque_setup;
        alter role pgdisque rename to pgdisque_superuser;
        set session authorization pgdisque_superuser;
        drop role pgdisque_setup;
    end if;
end
$$;

do $$
declare
    name text;
begin
    foreach name in array array[
        'pgdisque_producer', 'pgdisque_consumer', 'pgdisque_tenant', 'pgdisque_reader', 'pgdisque_server'
    ] loop
        if to_regrole(name) is null then
            execute format('create role %I nologin', name);
        end if;
    end loop;
    if to_regrole('pgdisque') is null then
        create role pgdisque;
    end if;
end
$$;

alter role pgdisque login nosuperuser nocreatedb nocreaterole noreplication nobypassrls;

grant pg_monitor to pgdisque;

alter database postgres owner to pgdisque;

-- Objects of the schema. A sequence of a column, the row type of a table and an array type follow their object.
do $$
declare
    command text;
begin
    for command in
        with place as (
            select n.oid
            from pg_namespace as n
            where n.nspname = 'pgdisque'
        )
        select 'alter schema pgdisque owner to pgdisque' from place
        union all
        select format(
            'alter %s %s owner to pgdisque',
            case c.relkind
                when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence' else 'table'
            end,
            c.oid::regclass)
        from place
        join pg_class as c on c.relnamespace = place.oid
        where c.relkind in ('r', 'p', 'v', 'm', 'f')
           or (c.relkind = 'S'
               and not exists (
                   select
                   from pg_depend as d
                   where d.classid = 'pg_class'::regclass
                     and d.objid = c.oid
                     and d.refclassid = 'pg_class'::regclass
                     and d.deptype in ('a', 'i')
               ))
        union all
        select format(
            'alter %s %s owner to pgdisque',
            case p.prokind when 'p' then 'procedure' when 'a' then 'aggregate' else 'function' end, p.oid::regprocedure)
        from place
        join pg_proc as p on p.pronamespace = place.oid
        union all
        select format('alter type %s owner to pgdisque', t.oid::regtype)
        from place
        join pg_type as t on t.typnamespace = place.oid
        left join pg_class as c on c.oid = t.typrelid
        where t.typelem = 0
          and (t.typrelid = 0 or c.relkind = 'c')
    loop
        execute command;
    end loop;
end
$$;
