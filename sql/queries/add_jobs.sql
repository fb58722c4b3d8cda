-- Adds jobs. A duplicate id is an error: the server makes the ids and never uses an id twice.
-- params: $1 id, $2 ready_at, $3 expires_at, $4 wake_at, $5 queue_id, $6 retry, $7 delay, $8 rank,
--         $9 replicate, $10 owner (not null: inserted as delivered, for a waiting client), $11 body, $12 attempts,
--         $13 backoff, $14 deadqueue (null: none)
-- index: job_pkey; job_wake for delayed jobs and jobs with a time to live other than the default
insert into pgdisque.job
    (id, ready_at, expires_at, wake_at, queue_id, retry, delay, deliveries, rank, replicate, owner, body,
     attempts, backoff, deadqueue, leased_at)
select
    a.id, a.ready_at, a.expires_at, a.wake_at, a.queue_id, a.retry, a.delay,
    case when a.owner is null then 0 else 1 end, a.rank, a.replicate, a.owner, a.body,
    a.attempts, a.backoff, a.deadqueue,
    -- The lease began when the job was created. The id has that time.
    case
        when a.owner is not null and a.backoff is not null
            then timestamptz '2020-01-01 00:00:00+00' + (a.id >> 22) * interval '1 millisecond'
    end
from unnest(
    $1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[], $5::integer[], $6::integer[],
    $7::integer[], $8::smallint[], $9::smallint[], $10::smallint[], $11::bytea[],
    $12::integer[], $13::integer[], $14::bytea[]
) as a (
    id, ready_at, expires_at, wake_at, queue_id, retry, delay, rank, replicate, owner, body, attempts, backoff,
    deadqueue
)
