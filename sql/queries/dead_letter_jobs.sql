-- Moves exhausted jobs to the queue that DEADQUEUE names, as new jobs whose time to live begins now, or to
-- pgdisque.dead_job. A job whose dead-letter queue has no row yet is not moved. The unique key of a moved job
-- is free.
-- params: $1 queue_id, $2 rank, $3 id, $4 now
-- returns: ordinal, deadqueue (null: the job is in pgdisque.dead_job), moved_to (null: the queue has no row),
--          expires_at (of the new job), ended_at (expiry of the old job), retry, group_key
-- locks: the rows, in the order of the parameters; a deadlock is repeated by the server
-- index: job_pkey, queue_name
with found as materialized (
    select k.ordinal, j.queue_id, j.rank, j.id, j.deadqueue, q.id as moved_to
    from unnest($1::integer[], $2::smallint[], $3::bigint[]) with ordinality as k (queue_id, rank, id, ordinal)
    join pgdisque.job as j on j.queue_id = any (array[k.queue_id]) and j.rank = k.rank and j.id = k.id
    left join pgdisque.queue as q on sha256(q.name) = any (array[sha256(j.deadqueue)])
    where j.deliveries >= j.attempts
      and j.ready_at <= $4::timestamptz
      and j.expires_at > $4::timestamptz
    for update of j
),
gone as (
    delete from pgdisque.job as j
    using found as f
    where j.queue_id = any (array[f.queue_id])
      and j.rank = f.rank
      and j.id = f.id
      and (f.deadqueue is null or f.moved_to is not null)
    returning
        j.*, f.ordinal, f.moved_to,
        $4::timestamptz + (j.expires_at
            - timestamptz '2020-01-01 00:00:00+00' - (j.id >> 22) * interval '1 millisecond')
            as next_expires_at
),
moved as (
    insert into pgdisque.job
        (id, ready_at, expires_at, wake_at, queue_id, retry, nacks, additional_deliveries, rank, replicate, body, error)
    select
        g.id, $4::timestamptz, g.next_expires_at, g.next_expires_at, g.moved_to, g.retry, g.nacks,
        g.additional_deliveries, g.rank, g.replicate, g.body, g.error
    from gone as g
    where g.deadqueue is not null
    on conflict (queue_id, rank, id) do nothing
),
kept as (
    insert into pgdisque.dead_job
        (id, died_at, expires_at, queue_id, retry, delay, deliveries, nacks, additional_deliveries, attempts,
         backoff, rank, replicate, error, unique_key, body)
    select
        g.id, $4::timestamptz, g.expires_at, g.queue_id, g.retry, g.delay, g.deliveries, g.nacks,
        g.additional_deliveries, g.attempts, g.backoff, g.rank, g.replicate, g.error,
        g.unique_key, g.body
    from gone as g
    where g.deadqueue is null
    on conflict (queue_id, rank, id) do nothing
)
select
    f.ordinal::integer, f.deadqueue, f.moved_to,
    case when f.deadqueue is not null then g.next_expires_at end as expires_at,
    g.expires_at as ended_at, g.retry, g.group_key
from found as f
left join gone as g on g.ordinal = f.ordinal
