-- Reads the applied migrations. Creates the schema and its migration table if they are missing. A role that may
-- not create them can still use a schema that another role has made.
-- returns: version, breaking
do $$
begin
    if to_regnamespace('pgdisque') is null then
        create schema pgdisque;
    end if;
    if to_regclass('pgdisque.migration') is null then
        create table pgdisque.migration (
            version    integer primary key,
            name       text not null,
            breaking   boolean not null,
            applied_at timestamptz not null default now()
        );
    end if;
end
$$;

select m.version, m.breaking
from pgdisque.migration as m
order by m.version;
