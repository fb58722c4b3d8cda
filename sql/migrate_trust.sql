-- Finds reasons not to trust the schema: its code may run with the rights of this role. Runs before the schema
-- is used.
-- returns: finding, advice; a row for each reason
with us as (
    select r.oid, r.rolsuper
    from pg_catalog.pg_roles as r
    where r.rolname = current_user
),
place as (
    select n.oid, n.nspowner, n.nspacl
    from pg_catalog.pg_namespace as n
    where n.nspname = 'pgdisque'
),
-- A superuser counts as a member of every role, so its memberships show nothing.
trusted as (
    select r.oid
    from pg_catalog.pg_roles as r
    cross join us
    where r.rolsuper
       or r.oid = us.oid
       or (not us.rolsuper and pg_catalog.pg_has_role(us.oid, r.oid, 'member'))
    union
    -- The owner has given this role to servers, and an administrator has granted it to the current role.
    select place.nspowner
    from place
    cross join us
    where not us.rolsuper
      and pg_catalog.to_regrole('pgdisque_server') is not null
      and pg_catalog.pg_has_role(us.oid, pg_catalog.to_regrole('pgdisque_server'), 'member')
),
relation as (
    select c.oid, c.relname, c.relkind, c.relowner
    from place
    join pg_catalog.pg_class as c on c.relnamespace = place.oid
),
owned (what, name, owner) as (
    select 'schema', 'pgdisque', place.nspowner from place
    union all
    select 'relation', r.relname, r.relowner from relation as r
    union all
    select 'function', p.proname, p.proowner
    from place
    join pg_catalog.pg_proc as p on p.pronamespace = place.oid
    union all
    select 'operator', o.oprname, o.oprowner
    from place
    join pg_catalog.pg_operator as o on o.oprnamespace = place.oid
    union all
    select 'type', t.typname, t.typowner
    from place
    join pg_catalog.pg_type as t on t.typnamespace = place.oid
)
select
    pg_catalog.format('%s %s belongs to role %s', o.what, o.name, pg_catalog.pg_get_userbyid(o.owner)) as finding,
    'connect as that role, or drop what it has made, or make a trusted role the owner' as advice
from owned as o
where o.owner not in (select t.oid from trusted as t)
  and (o.what = 'schema' or o.owner <> (select place.nspowner from place))
union all
select
    pg_catalog.format(
        'role %s may create objects in schema pgdisque',
        case when a.grantee = 0 then 'public' else pg_catalog.pg_get_userbyid(a.grantee)::text end),
    'revoke create on schema pgdisque from that role'
from place
cross join pg_catalog.aclexplode(place.nspacl) as a
where a.privilege_type = 'CREATE'
  and a.grantee <> place.nspowner
  and a.grantee not in (select t.oid from trusted as t)
union all
select
    pg_catalog.format('table pgdisque.%s has trigger %s', r.relname, t.tgname), 'drop the trigger'
from relation as r
join pg_catalog.pg_trigger as t on t.tgrelid = r.oid
where not t.tgisinternal
union all
select
    pg_catalog.format('pgdisque.%s has rule %s', r.relname, w.rulename), 'drop the rule'
from relation as r
join pg_catalog.pg_rewrite as w on w.ev_class = r.oid
where w.ev_type <> '1'
   or r.relkind <> 'v'
union all
select
    pg_catalog.format('table pgdisque.%s has policy %s', r.relname, p.polname), 'drop the policy'
from relation as r
join pg_catalog.pg_policy as p on p.polrelid = r.oid
