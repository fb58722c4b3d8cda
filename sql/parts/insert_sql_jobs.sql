-- insert_sql_jobs(): the insert of api_insert, whose parameters it uses
insert into pgdisque.job
    (id, ready_at, expires_at, wake_at, queue_id, retry, delay, rank, attempts, backoff, deadqueue, group_key,
     unique_key, unique_until, body, headers)
select
    a.id, case when group_key is null then r.ready_at else 'infinity' end, e.expires_at,
    case when delay > 0 then r.ready_at when priority > 0 or ttl <> 86400 then e.expires_at end,
    queue_id, retry, delay, -priority, nullif(attempts, 0), nullif(backoff, 0), deadqueue, group_key,
    unique_key, unique_until, a.body, nullif(headers, '{}')
from unnest(ids, bodies) as a (id, body)
cross join lateral (select pgdisque.api_created_at(a.id) + ttl * interval '1 second') as e (expires_at)
-- The ready_at is a second in the past, because a server's clock may be late. A claim that does not see the
-- job would skip it.
cross join (
    select added_at + case when delay > 0 then delay else -1 end * interval '1 second'
) as r (ready_at)
