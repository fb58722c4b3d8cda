-- Completes batches that are closed and have no pending job: BATCH CLOSE, and after a crash.
-- params: $1 id, $2 now
-- returns: as end_in_flows; kinds 1 and 2
-- locks: the batches and their waiting jobs; skips locked rows
-- index: batch_pkey, waiting_job_id
with complete as materialized (
    select
        b.id, b.queue_id, b.rank, b.retry, b.success_id, b.success_body, b.failed + b.cancelled = 0 as is_clean,
        b.total = b.done and b.succeeded_at is null and not b.is_expired and b.success_body is not null as succeeds
    from pgdisque.batch as b
    where b.id = any ($1::bigint[])
      and b.completed_at is null
      and b.closed_at is not null
      and b.total = b.done + b.failed + b.cancelled
    for update skip locked
),
{{complete(complete, $2::timestamptz)}},
clean as materialized (
    select c.*
    from complete as c
    where c.succeeds
),
completed as (
    update pgdisque.batch as b
    set completed_at = case when r.id is not null then $2::timestamptz end,
        succeeded_at = coalesce(b.succeeded_at, case when c.succeeds then $2::timestamptz end)
    from complete as c
    left join ready as r on r.id = c.id
    where b.id = any (array[c.id])
),
success as (
    {{batch_job(clean, success_id, success_body, $2::timestamptz)}}
),
added as (
    {{insert_released(finished, $2::timestamptz)}}
)
select
    1 as kind, w.queue_id, w.rank, w.id, w.expires_at, w.retry, null::timestamptz as wake_at, w.group_key,
    null::integer as ordinal, null::integer as exit, null::boolean as last_holds, null::bigint as last_id,
    null::boolean as is_dead_letter
from finished as w
union all
select 1, s.queue_id, s.rank, s.id, s.expires_at, s.retry, null, null, null, null, null, null, null
from success as s
union all
select 2, null, null, b.id, null, null, null, null, null, null, null, null, null
from bare as b
