-- Finds objects in the schema that use code from other schemas. Runs after the migrations.
-- returns: finding, advice; a row for each
with place as (
    select n.oid
    from pg_catalog.pg_namespace as n
    where n.nspname = 'pgdisque'
),
relation as (
    select c.oid
    from place
    join pg_catalog.pg_class as c on c.relnamespace = place.oid
),
ours (class, id) as (
    select 'pg_class'::regclass, r.oid from relation as r
    union all
    select 'pg_rewrite'::regclass, w.oid
    from relation as r
    join pg_catalog.pg_rewrite as w on w.ev_class = r.oid
    union all
    select 'pg_attrdef'::regclass, d.oid
    from relation as r
    join pg_catalog.pg_attrdef as d on d.adrelid = r.oid
    union all
    select 'pg_constraint'::regclass, c.oid
    from relation as r
    join pg_catalog.pg_constraint as c on c.conrelid = r.oid
    union all
    select 'pg_proc'::regclass, p.oid
    from place
    join pg_catalog.pg_proc as p on p.pronamespace = place.oid
),
used (class, id, namespace) as (
    select 'pg_proc'::regclass, p.oid, p.pronamespace from pg_catalog.pg_proc as p
    union all
    select 'pg_operator'::regclass, o.oid, o.oprnamespace from pg_catalog.pg_operator as o
    union all
    select 'pg_type'::regclass, t.oid, t.typnamespace from pg_catalog.pg_type as t
    union all
    select 'pg_opclass'::regclass, c.oid, c.opcnamespace from pg_catalog.pg_opclass as c
    union all
    select 'pg_class'::regclass, c.oid, c.relnamespace from pg_catalog.pg_class as c
)
select distinct
    pg_catalog.format(
        '%s uses %s',
        pg_catalog.pg_describe_object(d.classid, d.objid, 0),
        pg_catalog.pg_describe_object(d.refclassid, d.refobjid, 0))
        as finding,
    'drop what does not come from pgdisque' as advice
from ours as o
join pg_catalog.pg_depend as d on d.classid = o.class and d.objid = o.id
join used as u on u.class = d.refclassid and u.id = d.refobjid
where u.namespace <> (select place.oid from place)
  and u.namespace <> 'pg_catalog'::regnamespace
