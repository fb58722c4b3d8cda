-- Closes batches that are still open at the end of their time, and adds their failure jobs.
-- params: $1 now, $2 limit
-- returns: batch_id, queue_id, rank, id, expires_at, retry (of the failure job; null: none)
-- locks: the batches; skips locked rows
-- index: batch_open, batch_pkey
with old as materialized (
    select b.*
    from pgdisque.batch as b
    where b.closed_at is null
      and b.closes_at <= $1::timestamptz
    order by b.closes_at
    limit $2::integer
    for update skip locked
),
closed as (
    update pgdisque.batch as b
    set closed_at = $1::timestamptz,
        is_expired = true,
        failed_at = coalesce(b.failed_at, $1::timestamptz)
    from old as o
    where b.id = any (array[o.id])
),
failing as materialized (
    select o.*
    from old as o
    where o.failed_at is null
      and o.failure_body is not null
),
alarm as (
    {{batch_job(failing, failure_id, failure_body, $1::timestamptz)}}
)
select
    o.id as batch_id, a.queue_id, a.rank, a.id, a.expires_at, a.retry
from old as o
left join alarm as a on a.id = o.failure_id
