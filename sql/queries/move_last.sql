-- Moves the last ready jobs of a queue, as move_first moves the first. Exhausted jobs are skipped.
-- params: $1 queue_id, $2 limit, $3 now, $4 queue_id, $5 id (arrays: the new keys, as many as the limit)
-- returns: as move_first
-- locks: the rows; skips locked rows
-- index: job_pkey backwards, then by ctid
with found as (
    select p.ctid, row_number() over () as ordinal
    from (
        select r.ctid
        from pgdisque.job as r
        where r.queue_id = $1::integer
          and {{queued(r, $3::timestamptz)}}
        order by r.rank desc, r.id desc
        limit $2::integer
        for update skip locked
    ) as p
),
gone as (
    delete from pgdisque.job as j
    using found as f
    join unnest($4::integer[], $5::bigint[]) with ordinality as t (to_queue_id, to_id, ordinal) on t.ordinal = f.ordinal
    where j.ctid = f.ctid
    -- In another list the expiry that EXPIRE has set does not apply.
    returning
        f.ordinal, t.to_queue_id, t.to_id, t.to_queue_id <> $1::integer as is_other,
        greatest(j.expires_at, case when t.to_queue_id <> $1::integer then j.own_expires_at end) as to_expires_at,
        j.*
),
placed as (
    -- A job with a negative id does not expire in the order of ids, so it needs a wake_at. A job without an end
    -- needs none.
    select
        g.*,
        case
            when g.to_id > 0 and (g.wake_at is null or g.to_expires_at > $3::timestamptz + interval '18300 days') then null
            else g.to_expires_at
        end as to_wake_at
    from gone as g
),
moved as (
    insert into pgdisque.job
        (id, ready_at, expires_at, wake_at, queue_id, retry, delay, deliveries, nacks, extras, rank, replicate, body,
         attempts, backoff, deadqueue, error, group_key, own_expires_at)
    select
        g.to_id, $3::timestamptz, g.to_expires_at, g.to_wake_at, g.to_queue_id, g.retry, g.delay, g.deliveries,
        g.nacks, g.extras, 0, g.replicate, g.body, g.attempts, g.backoff, g.deadqueue, g.error, g.group_key,
        case when not g.is_other then g.own_expires_at end
    from placed as g
)
select
    g.ordinal::integer, g.rank, g.id, g.ready_at, g.to_wake_at, g.body, g.expires_at, g.retry, g.group_key,
    g.to_expires_at
from placed as g
