-- Indexes that are missing or invalid, and foreign indexes that make claims slower.
-- params: $2 indexes (table.index, between commas)
with expected as (
    select split_part(e.name, '.', 1) as tab, split_part(e.name, '.', 2) as idx
    from unnest(string_to_array($2, ',')) as e (name)
),
present as (
    select t.relname as tab, c.relname as idx, i.indisvalid and i.indisready and i.indislive as is_well
    from pg_class as t
    join pg_index as i on i.indrelid = t.oid
    join pg_class as c on c.oid = i.indexrelid
    where t.relnamespace = to_regnamespace('pgdisque')
      and t.relkind in ('r', 'p')
)
select
    'error' as severity,
    format('the index pgdisque.%I of pgdisque.%I is missing', e.idx, e.tab) as finding,
    'make it as sql/schema.sql has it (create index concurrently): without it statements read whole tables' as advice
from expected as e
where to_regclass(format('pgdisque.%I', e.tab)) is not null
  and not exists (select from present as p where p.tab = e.tab and p.idx = e.idx)
union all
select
    case when e.idx is null then 'warning' else 'error' end,
    format('the index pgdisque.%I of pgdisque.%I is not valid', p.idx, p.tab),
    case
        when e.idx is null then format('it is what a failed command left: drop index pgdisque.%I', p.idx)
        else format('reindex index concurrently pgdisque.%I', p.idx)
    end
from present as p
left join expected as e on e.tab = p.tab and e.idx = p.idx
where not p.is_well
union all
select
    'warning',
    format('the index pgdisque.%I of pgdisque.job is not the server''s', p.idx),
    format('every job has to be put into it, and a claim that changes a column of it costs twice as much; if it is not '
           'needed: drop index pgdisque.%I', p.idx)
from present as p
where p.tab = 'job'
  and p.is_well
  and not exists (select from expected as e where e.tab = p.tab and e.idx = p.idx)
