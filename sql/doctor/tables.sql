-- Dead rows that vacuum has not removed: it does not run, or is held back. The limit is ten times the number at
-- which autovacuum begins, or a million.
-- params: $1 patience (seconds)
select
    'warning' as severity,
    format('%s has %s dead rows beside %s live ones (table %s, indexes %s); %s', t.name, t.dead, t.live,
           pg_size_pretty(pg_table_size(t.oid)), pg_size_pretty(pg_indexes_size(t.oid)),
           case
               when t.vacuumed is null then 'it was never vacuumed'
               else format('the last vacuum was %s ago', date_trunc('second', clock_timestamp() - t.vacuumed))
           end) as finding,
    case
        when t.is_late then format('vacuum %s; see that autovacuum is on, has workers that are not busy elsewhere '
                                   '(autovacuum_max_workers), and is not slowed down (autovacuum_vacuum_cost_limit)',
                                   t.name)
        else 'find out who holds back vacuum: other findings here name transactions, slots and standbys'
    end as advice
from (
    select
        s.relid as oid,
        format('%I.%I', s.schemaname, s.relname) as name,
        s.n_dead_tup as dead,
        s.n_live_tup as live,
        greatest(s.last_vacuum, s.last_autovacuum) as vacuumed,
        s.n_dead_tup > 10 * (o.threshold + o.scale * s.n_live_tup) as is_much,
        coalesce(greatest(s.last_vacuum, s.last_autovacuum) < clock_timestamp()
            - (10 * $1::double precision) * interval '1 second', true) as is_late
    from pg_stat_user_tables as s
    join pg_class as c on c.oid = s.relid,
        lateral (
            select
                coalesce(max(r.option_value) filter (where r.option_name = 'autovacuum_vacuum_threshold'),
                         current_setting('autovacuum_vacuum_threshold'))::double precision as threshold,
                coalesce(max(r.option_value) filter (where r.option_name = 'autovacuum_vacuum_scale_factor'),
                         current_setting('autovacuum_vacuum_scale_factor'))::double precision as scale
            from pg_options_to_table(c.reloptions) as r
        ) as o
    where s.schemaname = 'pgdisque'
) as t
where t.is_much and t.is_late
   or t.dead > 1000000
order by t.dead desc
limit 5
