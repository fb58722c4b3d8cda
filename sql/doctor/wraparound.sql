-- Age of the oldest transaction numbers: at 2^31 the whole cluster refuses to write. Vacuum begins at
-- autovacuum_freeze_max_age. At twice that age, vacuum is not getting through.
with ages as (
    select
        format('table %I.%I', n.nspname, c.relname) as what,
        age(c.relfrozenxid) as xids,
        mxid_age(c.relminmxid) as multis,
        format('vacuum (freeze, verbose) %I.%I', n.nspname, c.relname) as remedy
    from pg_class as c
    join pg_namespace as n on n.oid = c.relnamespace
    where c.relkind in ('r', 't')
      and (n.nspname = 'pgdisque'
           or c.oid in (
               select o.reltoastrelid
               from pg_class as o
               where o.relnamespace = to_regnamespace('pgdisque')
           ))
    union all
    select
        format('database %I', d.datname),
        age(d.datfrozenxid),
        mxid_age(d.datminmxid),
        format('in that database, as a superuser: vacuum (freeze)')
    from pg_database as d
    where d.datallowconn
),
judged as (
    select
        a.*,
        2 * current_setting('autovacuum_freeze_max_age')::bigint as many_xids,
        2 * current_setting('autovacuum_multixact_freeze_max_age')::bigint as many_multis
    from ages as a
)
select
    case when greatest(j.xids, j.multis) > 1200000000 then 'error' else 'warning' end as severity,
    format('%s: its oldest transaction is %s numbers back, its oldest multixact %s; %s numbers are left before the '
           'cluster stops writing', j.what, j.xids, j.multis, 2147483647 - greatest(j.xids, j.multis)) as finding,
    format('end what holds back vacuum, then %s', j.remedy) as advice
from judged as j
where j.xids > least(j.many_xids, 1200000000)
   or j.multis > least(j.many_multis, 1200000000)
order by greatest(j.xids, j.multis) desc
limit 5
