-- Queues the dead jobs of a queue again, in key order: REVIVE. As revive_jobs.
-- params: $1 queue_id, $2 rank, $3 id (after that key), $4 limit, $5 now
-- returns: rank, id, expires_at; the first row: the last job that the statement looked at, and null. Then the
--          revived jobs, in no order
-- locks: the rows; skips locked rows
-- index: dead_pkey
with found as materialized (
    select
        d.*,
        case
            when d.expires_at > $5::timestamptz then d.expires_at
            else $5::timestamptz
                + (d.expires_at - timestamptz '2020-01-01 00:00:00+00' - (d.id >> 22) * interval '1 millisecond')
        end as next_expires_at
    from pgdisque.dead_job as d
    where d.queue_id = $1::integer
      and (d.rank, d.id) > ($2::smallint, $3::bigint)
    order by d.rank, d.id
    limit $4::integer
    for update skip locked
),
revived as (
    insert into pgdisque.job
        (id, ready_at, expires_at, wake_at, queue_id, retry, delay, nacks, additional_deliveries, rank,
         replicate, attempts, backoff, error, unique_key, body)
    select
        f.id, $5::timestamptz, f.next_expires_at, f.next_expires_at, f.queue_id, f.retry, f.delay, f.nacks,
        f.additional_deliveries + 1, f.rank, f.replicate, f.attempts, f.backoff, f.error, f.unique_key, f.body
    from found as f
    on conflict do nothing
    returning queue_id, rank, id, expires_at
),
gone as (
    delete from pgdisque.dead_job as d
    using revived as r
    where d.queue_id = any (array[r.queue_id])
      and d.rank = r.rank
      and d.id = r.id
)
(
    select f.rank, f.id, null::timestamptz as expires_at
    from found as f
    order by f.rank desc, f.id desc
    limit 1
)
union all
(
    select r.rank, r.id, r.expires_at
    from revived as r
)
