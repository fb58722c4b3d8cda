-- Tables that are much larger than their rows. Postgres reuses the space, but does not return it to the disk.
select
    'note' as severity,
    format('%s takes %s (indexes %s) for about %s rows', t.name, pg_size_pretty(t.bytes),
           pg_size_pretty(pg_indexes_size(t.oid)), t.live) as finding,
    format('nothing, if so many jobs may come again: the space is used for them; otherwise, '
        'at a quiet time, because it '
           'stops all work while it runs: vacuum full %s', t.name) as advice
from (
    select
        s.relid as oid,
        format('%I.%I', s.schemaname, s.relname) as name,
        pg_table_size(s.relid) as bytes,
        s.n_live_tup as live,
        coalesce((
            select sum(w.avg_width)
            from pg_stats as w
            where w.schemaname = s.schemaname and w.tablename = s.relname
        ), 1000) + 28 as width
    from pg_stat_user_tables as s
    where s.schemaname = 'pgdisque'
) as t
where t.bytes > 1024 * 1024 * 1024::bigint
  and t.bytes > 20 * t.live * t.width
order by t.bytes desc
limit 5
