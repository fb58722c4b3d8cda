-- Puts back jobs that list commands took for clients that have gone. The statement fails if another job has the
-- unique key of a job now. The server then repeats it without the key.
-- params: $1 id, $2 ready_at, $3 expires_at, $4 wake_at, $5 queue_id, $6 retry, $7 body, $8 rank,
--         $9 deliveries, $10 nacks, $11 additional_deliveries, $12 attempts, $13 backoff, $14 deadqueue, $15 error,
--         $16 unique_key, $17 unique_until, $18 group_key (not null: the job waits for its release, because another
--         job of the group may run), $19 headers, $20 progress, $21 errors
-- returns: queue_id, rank, id, group_key; the inserted jobs
-- index: job_pkey
insert into pgdisque.job
    (id, ready_at, expires_at, wake_at, queue_id, retry, body, rank, deliveries, nacks,
     additional_deliveries, attempts, backoff, deadqueue, error, unique_key, unique_until, group_key,
     {{metadata_columns()}})
select
    a.id, case when a.group_key is null then a.ready_at else 'infinity' end, a.expires_at, a.wake_at,
    a.queue_id, a.retry, a.body, a.rank, a.deliveries, a.nacks, a.additional_deliveries, a.attempts,
    a.backoff, a.deadqueue, a.error, a.unique_key, a.unique_until, a.group_key, {{metadata(a)}}
from unnest(
    $1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[], $5::integer[], $6::integer[], $7::bytea[],
    $8::smallint[], $9::integer[], $10::integer[], $11::integer[], $12::integer[], $13::integer[], $14::bytea[],
    $15::bytea[], $16::bytea[], $17::timestamptz[], $18::bytea[], $19::jsonb[], $20::jsonb[],
    $21::jsonb[]
) as a (
    id, ready_at, expires_at, wake_at, queue_id, retry, body, rank, deliveries, nacks, additional_deliveries,
    attempts, backoff, deadqueue, error, unique_key, unique_until, group_key,
    {{metadata_columns()}}
)
on conflict (queue_id, rank, id) do nothing
returning queue_id, rank, id, group_key
