-- Moves exhausted jobs to the queue that DEADQUEUE names, as new jobs whose time to live begins now, or to
-- pgdisque.dead_job. A job whose dead-letter queue has no row yet is not moved. The unique key of a moved job
-- is free. A cancelled job is only deleted.
-- params: $1 queue_id, $2 rank, $3 id, $4 now
-- returns: ordinal, deadqueue (null: the job is in pgdisque.dead_job), moved_to (null: the queue has no row),
--          expires_at (of the new job), ended_at (expiry of the old job), retry, group_key,
--          is_cancelled, in_flow, deliveries, traceparent (the header)
-- locks: the rows, in the order of the parameters; a deadlock is repeated by the server
-- index: job_pkey, queue_name
with found as materialized (
    select
        k.ordinal, j.queue_id, j.rank, j.id, q.id as moved_to,
        case when j.attempts > 0 then j.deadqueue end as deadqueue,
        {{is_cancelled(j)}} as is_cancelled
    from unnest($1::integer[], $2::smallint[], $3::bigint[]) with ordinality as k (queue_id, rank, id, ordinal)
    join pgdisque.job as j on j.queue_id = any (array[k.queue_id]) and j.rank = k.rank and j.id = k.id
    left join pgdisque.queue as q on sha256(q.name) = any (array[sha256(j.deadqueue)])
    where {{is_exhausted(j)}}
      and {{is_due(j, $4::timestamptz)}}
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
        case when j.owner is null or j.deliveries = 0 then j.errors else {{lease_ended(j)}} end as all_errors,
        {{renewed(j, $4::timestamptz)}} as next_expires_at
),
moved as (
    insert into pgdisque.job
        (id, ready_at, expires_at, wake_at, queue_id, retry, nacks, additional_deliveries, rank, replicate, body, error,
         {{metadata_columns()}})
    select
        g.id, $4::timestamptz, g.next_expires_at, g.next_expires_at, g.moved_to, g.retry, g.nacks,
        g.additional_deliveries, g.rank, g.replicate, g.body, g.error, g.headers, g.progress, g.all_errors
    from gone as g
    where g.deadqueue is not null
      and g.attempts > 0
    on conflict (queue_id, rank, id) do nothing
),
kept as (
    insert into pgdisque.dead_job
        (id, died_at, expires_at, queue_id, retry, delay, deliveries, nacks, additional_deliveries, attempts,
         backoff, rank, replicate, error, unique_key, body, {{metadata_columns()}})
    select
        g.id, $4::timestamptz, g.expires_at, g.queue_id, g.retry, g.delay, g.deliveries, g.nacks,
        g.additional_deliveries, g.attempts, g.backoff, g.rank, g.replicate, g.error,
        case when g.unique_start is not true then g.unique_key end, g.body, g.headers, g.progress, g.all_errors
    from gone as g
    where g.deadqueue is null
      and g.attempts > 0
    on conflict (queue_id, rank, id) do nothing
),
noted as (
    {{note_failure(gone, case when n.attempts > 0 then 2 else 3 end, n.error)}}
)
select
    f.ordinal::integer, f.deadqueue, f.moved_to,
    case when f.deadqueue is not null then g.next_expires_at end as expires_at,
    g.expires_at as ended_at, g.retry, g.group_key, f.is_cancelled, g.in_flow, g.deliveries,
    g.headers ->> 'traceparent' as traceparent
from found as f
left join gone as g on g.ordinal = f.ordinal
