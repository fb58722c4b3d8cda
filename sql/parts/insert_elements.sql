-- insert_elements(): the statements push_jobs and push_if_any
insert into pgdisque.job
    (id, ready_at, expires_at, wake_at, queue_id, retry, attempts, backoff, deadqueue, body)
select
    a.id, a.ready_at, a.expires_at, a.wake_at, a.queue_id, a.retry, a.attempts, a.backoff, a.deadqueue, a.body
from unnest(
    $1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[], $5::integer[], $6::integer[], $7::integer[],
    $8::integer[], $9::bytea[], $10::bytea[]
) as a (id, ready_at, expires_at, wake_at, queue_id, retry, attempts, backoff, deadqueue, body)
