-- Queues the dead jobs of a queue again, in key order: REVIVE. As revive_jobs. In another queue they have no unique
-- key. With a rate, each job is delayed a little longer than the one before it.
-- params: $1 queue_id, $2 rank, $3 id (after that key), $4 limit of the page, $5 now, $6 limit of revived jobs (null:
--         none), $7 text of the error, $8 least age, $9 greatest age, in seconds since the death, $10 headers (each
--         null: all jobs), $11 to_queue_id (null: the same), $12 ready_at of the first job (null: all are ready now),
--         $13 microseconds between two jobs
-- returns: rank, id, wake_at; the first row: the last job that the statement looked at, and null. Then the revived
--          jobs, in no order
-- locks: the rows; skips locked rows
-- index: dead_pkey, then by ctid
with {{dead_page()}},
timed as (
    select
        p.*,
        coalesce($12::timestamptz + p.place * $13::bigint * interval '1 microsecond', $5::timestamptz) as to_ready_at
    from (
        select f.*, row_number() over (order by f.rank, f.id) - 1 as place
        from found as f
    ) as p
),
placed as (
    select
        t.*, {{revived_until(t, t.to_ready_at)}} as to_expires_at
    from timed as t
),
revived as (
    insert into pgdisque.job
        (id, ready_at, expires_at, wake_at, queue_id, retry, delay, nacks, additional_deliveries, rank,
         replicate, attempts, backoff, error, unique_key, body, in_flow, {{metadata_columns()}})
    select
        p.id, p.to_ready_at, p.to_expires_at,
        case when $12::timestamptz is null then p.to_expires_at else p.to_ready_at end,
        coalesce($11::integer, p.queue_id), p.retry, p.delay, p.nacks, p.additional_deliveries + 1, p.rank, p.replicate,
        p.attempts, p.backoff, p.error, case when $11::integer is null then p.unique_key end, p.body,
        {{goes_on_in_flow(p)}}, {{metadata(p)}}
    from placed as p
    order by p.rank, p.id
    on conflict do nothing
    returning queue_id, rank, id, expires_at, wake_at, retry, in_flow
),
gone as (
    delete from pgdisque.dead_job as d
    where d.ctid = any ({{places_of_dead(revived, $1)}})
),
{{resume(revived)}}
select l.rank, l.id, null::timestamptz as wake_at
from looked as l
union all
select r.rank, r.id, r.wake_at
from revived as r
