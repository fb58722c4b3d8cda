-- Dead letters. Counts at most 10000.
select
    case when d.count >= 1000 then 'warning' else 'note' end as severity,
    format(
        '%s%s jobs are dead', case when d.count > 10000 then 'more than ' else '' end, least(d.count, 10000)
    ) as finding,
    'JSCAN STATE dead lists them, SHOW tells the last error; ENQUEUE revives, DELJOB removes one, '
        'REVIVE queue revives all of a queue' as advice
from (select count(*) from (select from pgdisque.dead_job as r limit 10001) as r) as d
where d.count > 0
