-- What was applied so far. Makes the schema and the table that remembers it, if they are missing.
-- returns: version, breaking
-- A role that may not make them can still run on a schema that another role has made.
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
