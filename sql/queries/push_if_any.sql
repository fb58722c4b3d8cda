-- Adds elements in a client transaction to lists that have elements: LPUSHX and RPUSHX. Earlier statements of
-- the transaction may have pushed or taken elements.
-- params: as push_jobs, then $11 now
-- returns: id; the added jobs, in the order of the parameters
-- index: job_pkey
insert into pgdisque.job
    (id, ready_at, expires_at, wake_at, queue_id, retry, attempts, backoff, deadqueue, body)
select
    a.id, a.ready_at, a.expires_at, a.wake_at, a.queue_id, a.retry, a.attempts, a.backoff, a.deadqueue, a.body
from unnest(
    $1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[], $5::integer[], $6::integer[], $7::integer[],
    $8::integer[], $9::bytea[], $10::bytea[]
) as a (id, ready_at, expires_at, wake_at, queue_id, retry, attempts, backoff, deadqueue, body)
cross join lateral (
    select
    from pgdisque.job as r
    where r.queue_id = a.queue_id
      and {{queued(r, $11::timestamptz)}}
    limit 1
) as l
returning id
