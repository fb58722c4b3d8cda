-- Indexes that are much larger than their entries, at about 40 bytes per entry.
select
    'note' as severity,
    format('the index %s takes %s for about %s rows', t.name, pg_size_pretty(t.bytes), t.live) as finding,
    format('nothing, if so many jobs may come again; otherwise: reindex index concurrently %s', t.name) as advice
from (
    select
        format('%I.%I', s.schemaname, s.indexrelname) as name,
        pg_relation_size(s.indexrelid) as bytes,
        pg_stat_get_live_tuples(s.relid) as live
    from pg_stat_user_indexes as s
    where s.schemaname = 'pgdisque'
) as t
where t.bytes > 256 * 1024 * 1024
  and t.bytes > 20 * t.live * 40
order by t.bytes desc
limit 5
