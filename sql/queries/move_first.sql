-- Moves the next ready jobs of a queue after a key to other queues, or to a new key in the same queue:
-- RPOPLPUSH, LMOVE. A moved job gets a new key and loses its unique key and its slot. The row is deleted and
-- inserted, not updated: a claim that follows an updated row to its new key would skip the keys in between.
-- Exhausted jobs are skipped.
-- params: $1 queue_id, $2 rank, $3 id (the key, excluded), $4 limit, $5 now, $6 queue_id, $7 id (arrays: the
--         new keys, as many as the limit)
-- returns: ordinal (of the new key), rank, id, ready_at (before the move), to_wake_at, body, expires_at (before the
--          move), retry, group_key, to_expires_at
-- locks: the rows; skips locked rows
-- index: job_pkey, then by ctid
with found as (
    select p.ctid, row_number() over () as ordinal
    from (
        select r.ctid
        from pgdisque.job as r
        where r.queue_id = $1::integer
          and (r.rank, r.id) > ($2::smallint, $3::bigint)
          and {{queued(r, $5::timestamptz)}}
        order by r.rank, r.id
        limit $4::integer
        for update skip locked
    ) as p
),
gone as (
    delete from pgdisque.job as j
    using found as f
    join unnest($6::integer[], $7::bigint[]) with ordinality as t (to_queue_id, to_id, ordinal) on t.ordinal = f.ordinal
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
            when g.to_id > 0 and (g.wake_at is null or g.to_expires_at > $5::timestamptz + interval '18300 days') then null
            else g.to_expires_at
        end as to_wake_at
    from gone as g
),
moved as (
    insert into pgdisque.job
        (id, ready_at, expires_at, wake_at, queue_id, retry, delay, deliveries, nacks, extras, rank, replicate, body,
         attempts, backoff, deadqueue, error, group_key, own_expires_at)
    select
        g.to_id, $5::timestamptz, g.to_expires_at, g.to_wake_at, g.to_queue_id, g.retry, g.delay, g.deliveries,
        g.nacks, g.extras, 0, g.replicate, g.body, g.attempts, g.backoff, g.deadqueue, g.error, g.group_key,
        case when not g.is_other then g.own_expires_at end
    from placed as g
)
select
    g.ordinal::integer, g.rank, g.id, g.ready_at, g.to_wake_at, g.body, g.expires_at, g.retry, g.group_key,
    g.to_expires_at
from placed as g
