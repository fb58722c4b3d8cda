-- insert_jobs(): the statements add_jobs and push_if_any
insert into pgdisque.job
    (id, ready_at, expires_at, wake_at, queue_id, retry, delay, deliveries, rank, replicate, owner, body,
     attempts, backoff, deadqueue, leased_at, group_key)
select
    a.id, a.ready_at, a.expires_at, a.wake_at, a.queue_id, a.retry, a.delay,
    case when a.owner is null then 0 else 1 end, a.rank, a.replicate, a.owner, a.body,
    a.attempts, a.backoff, a.deadqueue,
    -- The lease began when the job was created. The id has that time.
    case
        when a.owner is not null and a.backoff is not null
            then {{created_at(a.id)}}
    end,
    a.group_key
from unnest(
    $1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[], $5::integer[], $6::integer[],
    $7::integer[], $8::smallint[], $9::smallint[], $10::smallint[], $11::bytea[],
    $12::integer[], $13::integer[], $14::bytea[], $15::bytea[]
) as a (
    id, ready_at, expires_at, wake_at, queue_id, retry, delay, rank, replicate, owner, body, attempts, backoff,
    deadqueue, group_key
)
