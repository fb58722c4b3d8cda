-- Puts jobs back that list commands have taken for clients that had gone. Where somebody else has the key of one
-- now, the statement fails, and it comes without.
-- params: $1 id, $2 ready_at, $3 expires_at, $4 wake_at, $5 queue_id, $6 retry, $7 body, $8 rank, $9 deliveries,
--         $10 nacks, $11 extras, $12 attempts, $13 backoff, $14 deadqueue, $15 error, $16 unique_key, $17 unique_until,
--         $18 group_key (set: it waits to be let go, others may have been meanwhile)
-- returns: queue_id, rank, id, group_key of those that were not there
-- index: job_pkey
insert into pgdisque.job
    (id, ready_at, expires_at, wake_at, queue_id, retry, body, rank, deliveries, nacks, extras, attempts, backoff,
     deadqueue, error, unique_key, unique_until, group_key)
select
    a.id, case when a.group_key is null then a.ready_at else 'infinity' end, a.expires_at, a.wake_at, a.queue_id, a.retry, a.body, a.rank, a.deliveries, a.nacks, a.extras,
    a.attempts, a.backoff, a.deadqueue, a.error, a.unique_key, a.unique_until, a.group_key
from unnest(
    $1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[], $5::integer[], $6::integer[], $7::bytea[],
    $8::smallint[], $9::integer[], $10::integer[], $11::integer[], $12::integer[], $13::integer[], $14::bytea[],
    $15::bytea[], $16::bytea[], $17::timestamptz[], $18::bytea[]
) as a (
    id, ready_at, expires_at, wake_at, queue_id, retry, body, rank, deliveries, nacks, extras, attempts, backoff,
    deadqueue, error, unique_key, unique_until, group_key
)
on conflict (queue_id, rank, id) do nothing
returning queue_id, rank, id, group_key
