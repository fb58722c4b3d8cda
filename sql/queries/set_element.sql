-- Replaces the body of a queued job of a queue: LSET. A job that another session has taken is left unchanged.
-- The row is deleted and inserted, not updated: a claim that follows an updated row
-- does not find it by its ctid. It would take its incomplete result for all ready jobs.
-- params: $1 queue_id, $2 rank, $3 id (no ready job is at or before this key), $4 now, $5 place counted from
--         the first job, or $6 from the last job (the other is null), $7 body (an array of one)
-- returns: rank, id, is_set; the job at that place, or no row
-- locks: the row, and waits for its lock
-- index: job_pkey
with place as materialized (
    (
        select r.queue_id, r.rank, r.id
        from pgdisque.job as r
        where r.queue_id = $1::integer
          and (r.rank, r.id) > ($2::smallint, $3::bigint)
          and {{queued(r, $4::timestamptz)}}
        order by r.rank, r.id
        limit case when $5::bigint is null then 0 else 1 end
        offset $5::bigint
    )
    union all
    (
        select r.queue_id, r.rank, r.id
        from pgdisque.job as r
        where r.queue_id = $1::integer
          and (r.rank, r.id) > ($2::smallint, $3::bigint)
          and {{queued(r, $4::timestamptz)}}
        order by r.rank desc, r.id desc
        limit case when $6::bigint is null then 0 else 1 end
        offset $6::bigint
    )
), gone as (
    delete from pgdisque.job as r
    using place as p
    where r.queue_id = any (array[p.queue_id])
      and r.rank = p.rank
      and r.id = p.id
      and {{queued(r, $4::timestamptz)}}
    returning r.*
), changed as (
    insert into pgdisque.job
        (id, ready_at, expires_at, wake_at, queue_id, retry, delay, deliveries, nacks, additional_deliveries,
         rank, replicate, owner, body, unique_key, unique_until, unique_start, worker, slot,
         attempts, backoff, leased_at,
         deadqueue, error, group_key,
         own_expires_at, sorted_set, in_flow, {{metadata_columns()}})
    select
        g.id, g.ready_at, g.expires_at, g.wake_at, g.queue_id, g.retry, g.delay, g.deliveries, g.nacks,
        g.additional_deliveries, g.rank, g.replicate, g.owner, ($7::bytea[])[1],
        g.unique_key, g.unique_until,
        g.unique_start,
        g.worker, g.slot, g.attempts, g.backoff, g.leased_at, g.deadqueue, g.error, g.group_key, g.own_expires_at,
        g.sorted_set, g.in_flow,
        {{metadata(g)}}
    from gone as g
)
select p.rank, p.id, exists (select from gone) as is_set
from place as p
