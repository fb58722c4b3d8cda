-- Servers that failed and have not left: they have no session, and their last heartbeat is minutes old.
-- params: $1 patience (seconds; the limit is three times that)
select
    'note' as severity,
    format('the server %s (%s:%s, number %s) has not left and was last seen %s ago', substr(n.id, 1, 8),
           coalesce(nullif(n.addr, ''), 'no address'), n.port, n.number,
           date_trunc('second', clock_timestamp() - n.seen_at)) as finding,
    format('start it again, or if it is gone for good: CLUSTER FORGET %s; its jobs come back by themselves', n.id)
        as advice
from pgdisque.node as n
where n.left_at is null
  and n.seen_at < clock_timestamp() - $1::double precision * interval '3 seconds'
  and not exists (
      select
      from pg_stat_activity as a
      where a.application_name like 'pgdisque ' || substr(n.id, 1, 8) || ' %'
  )
order by n.seen_at
limit 10
