-- Adds the elements of list commands for which add_jobs_alike cannot be used. Elements of a lost first try may
-- exist.
-- params: $1 id, $2 ready_at, $3 expires_at, $4 wake_at, $5 queue_id, $6 retry, $7 attempts, $8 backoff, $9 deadqueue,
--         $10 body
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
on conflict (queue_id, rank, id) do nothing
returning id
