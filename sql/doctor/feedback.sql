-- Standbys with hot_standby_feedback: their queries hold back vacuum. The limit is 1000 transactions per
-- second of patience.
-- params: $1 patience (seconds)
select
    'warning' as severity,
    format('vacuum is held back by the standby "%s" (process %s) with hot_standby_feedback: a query there is %s '
           'transactions old', a.application_name, a.pid, age(a.backend_xmin)) as finding,
    'end the long query on the standby, limit it with statement_timeout, '
        'or switch hot_standby_feedback off there' as advice
from pg_stat_activity as a
where a.datid is null
  and age(a.backend_xmin) > $1::double precision * 1000
order by age(a.backend_xmin) desc
limit 5
