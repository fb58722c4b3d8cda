-- Completes batches that are closed and have no pending job: BATCH CLOSE, and after a crash.
-- params: $1 id, $2 now
-- returns: as end_in_flows; kinds 1 and 2
-- locks: the batches and their waiting jobs; skips locked rows
-- index: batch_pkey, waiting_job_id
with complete as materialized (
    select b.id, b.failed + b.cancelled = 0 as is_clean
    from pgdisque.batch as b
    where b.id = any ($1::bigint[])
      and b.completed_at is null
      and b.closed_at is not null
      and b.total = b.done + b.failed + b.cancelled
    for update skip locked
),
{{complete(complete, $2::timestamptz)}},
completed as (
    update pgdisque.batch as b
    set completed_at = $2::timestamptz
    from ready as c
    where b.id = any (array[c.id])
),
added as (
    {{insert_released(finished, $2::timestamptz)}}
)
select
    1 as kind, w.queue_id, w.rank, w.id, w.expires_at, w.retry, null::timestamptz as wake_at, w.group_key,
    null::integer as ordinal, null::smallint as exit
from finished as w
union all
select 2, null, null, b.id, null, null, null, null, null, null
from bare as b
