-- Transactions that have been open for long. Vacuum cannot remove rows that they may still see. If a
-- transaction's start is hidden from this role, its limit is 100 transactions per second of patience.
-- params: $1 patience (seconds)
select
    'warning' as severity,
    format('vacuum is held back by process %s (user %s, application "%s", %s): its transaction '
        'has been open %s, and is %s '
           'transactions old', o.pid, o.usename, o.application_name, coalesce(o.state, 'state not visible'),
           coalesce('for ' || date_trunc('second', clock_timestamp() - o.xact_start), 'since a time not visible'),
           o.age) as finding,
    format('end the transaction where it was begun, or: select pg_terminate_backend(%s); against the next one: '
           'idle_in_transaction_session_timeout', o.pid) as advice
from (
    select a.*, greatest(age(a.backend_xid), age(a.backend_xmin)) as age
    from pg_stat_activity as a
    where a.datname = current_database()
      and a.pid <> pg_backend_pid()
      and (a.backend_xid is not null or a.backend_xmin is not null)
      and a.backend_type is distinct from 'autovacuum worker'
      and not exists (select from pg_stat_progress_vacuum as v where v.pid = a.pid)
) as o
where case
          when o.xact_start is null then o.age >= $1::double precision * 100
          else clock_timestamp() - o.xact_start >= $1::double precision * interval '1 second'
      end
order by o.age desc
limit 5
