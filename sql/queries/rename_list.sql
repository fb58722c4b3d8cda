-- Moves all queued jobs of a queue to another queue, whose queued jobs are deleted: RENAME. Moved jobs keep
-- their order, and lose unique keys, groups and slots. Rows are deleted and inserted, as in rerank_jobs.
-- Nothing is done if there are no jobs, or if both queues together have more jobs than the limit.
-- params: $1 from queue_id, $2 to queue_id, $3 sign (-1: the order is reversed), $4 limit, $5 only_new (not if
--         the target has queued jobs), $6 now, $7 most rows of each queue in the result
-- returns: queue_id, rank, id (before the move), ready_at, expires_at, retry, group_key, in_flow, wake_at
--          (after the move), outcome, moved, emptied; the jobs that have left a queue, with null outcome. If both
--          queues together had more jobs than $7, only jobs with a group, in a flow, or with an ended lease.
--          Then a row with outcome 0 no jobs, 1 moved, 2 too many jobs, 3 the target has jobs; the lowest rank,
--          id and wake_at after the move; the numbers of jobs that have left each queue
-- locks: the rows; skips locked rows
-- index: job_pkey, then by ctid; flow_job_pkey
with source as materialized (
    select r.ctid
    from pgdisque.job as r
    where r.queue_id = $1::integer
      and {{queued(r, $6::timestamptz)}}
    order by r.rank, r.id
    limit $4::bigint + 1
    for update skip locked
),
target as materialized (
    select r.ctid
    from pgdisque.job as r
    where r.queue_id = $2::integer
      and {{queued(r, $6::timestamptz)}}
    order by r.rank, r.id
    limit $4::bigint + 1
    for update skip locked
),
found as materialized (
    select (select count(*) from source) as moved, (select count(*) from target) as emptied
),
decided as materialized (
    select
        case
            when f.moved = 0 then 0
            when f.emptied > 0 and $5::boolean then 3
            when f.moved + f.emptied > $4::bigint then 2
            else 1
        end as outcome,
        f.moved + f.emptied <= $7::integer as is_small
    from found as f
),
emptied as (
    delete from pgdisque.job as j
    where j.ctid = any (array(select t.ctid from target as t, decided as d where d.outcome = 1))
    returning j.queue_id, j.rank, j.id, j.ready_at, j.expires_at, j.retry, j.group_key, j.in_flow, j.owner
),
noted as (
    {{note_outcome(emptied, 3)}}
),
gone as (
    delete from pgdisque.job as j
    where j.ctid = any (array(select s.ctid from source as s, decided as d where d.outcome = 1))
    -- A job with a negative id does not expire in the order of ids.
    returning j.*,
    case when j.wake_at is null and (j.id < 0 or $3::bigint > 0) then null else j.expires_at end as new_wake_at
),
moved as (
    insert into pgdisque.job
        (id, ready_at, expires_at, wake_at, queue_id, retry, delay, deliveries, nacks, additional_deliveries,
         rank, replicate, body, attempts, backoff, deadqueue, error, own_expires_at,
         {{metadata_columns()}})
    select
        g.id * $3::bigint, $6::timestamptz, g.expires_at, g.new_wake_at, $2::integer, g.retry, g.delay, g.deliveries,
        g.nacks, g.additional_deliveries + (g.owner is not null)::integer, g.rank, g.replicate, g.body,
        g.attempts, g.backoff, g.deadqueue, g.error, g.own_expires_at, {{metadata(g)}}
    from gone as g
)
(
    select
        g.queue_id, g.rank, g.id, g.ready_at, g.expires_at, g.retry, g.group_key, g.in_flow,
        g.new_wake_at as wake_at, null::integer as outcome, null::bigint as moved, null::bigint as emptied
    from gone as g
    cross join decided as d
    where d.is_small or g.group_key is not null or g.in_flow or g.owner is not null
    limit $7::integer
)
union all
(
    select
        e.queue_id, e.rank, e.id, e.ready_at, e.expires_at, e.retry, e.group_key, e.in_flow,
        null, null, null, null
    from emptied as e
    cross join decided as d
    where d.is_small or e.group_key is not null or e.in_flow or e.owner is not null
    limit $7::integer
)
union all
select
    null, m.rank, m.id, null, null, null, null, null, m.wake_at, d.outcome, m.moved,
    (select count(*) from emptied)
from decided as d
cross join (
    select
        min(g.rank) as rank, min(g.id * $3::bigint) as id, min(g.new_wake_at) as wake_at, count(*) as moved
    from gone as g
) as m
