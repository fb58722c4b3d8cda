-- Extends the lease of jobs by their retry time, as working_jobs does, in queues that may have limits: WORKING.
--
-- In a queue with max-active a job keeps its slot. A job without a slot takes a free slot, as in claim_limited.
-- A job whose lease has ended in a slot beyond the limit does so, too. If no slot is free, the job is
-- unchanged. No slot is free while a job runs in a slot beyond the limit.
-- params: $1 queue_id, $2 rank, $3 id, $4 created_at, $5 seconds (null: the retry time), $6 now, $7 node,
--         $8 token (none, 0, or that of the last delivery), $9 worker (name of the caller, for a job without a
--         worker name), $10 progress (null: none)
-- returns: ordinal, lease (seconds the client has; null: the token is stale, and the job is unchanged),
--          ready_at, too_late, was_queued, was_until, last (attempt), is_full (it needs a slot, and no slot is
--          free: unchanged), is_cancelled (and too_late)
-- locks: the rows, in the order of the parameters; a deadlock is repeated by the server; then slots; skips
-- locked rows
-- index: job_pkey, queue_setting_pkey, slot_pkey
with {{working()}},
-- A job that is named twice needs only one slot.
needing as materialized (
    select
        o.ordinal, o.queue_id, o.rank, o.id, l.most,
        dense_rank() over (partition by o.queue_id order by o.rank, o.id) as place
    from old as o
    cross join lateral (
        select case
            when max(case when s.name = 'per-group' then convert_from(s.value, 'UTF8') end)::integer > 0 then 0
            else max(case when s.name = 'max-active' then convert_from(s.value, 'UTF8') end)::integer
        end as most
        from pgdisque.queue_setting as s
        where s.queue_id = o.queue_id
          and s.name in ('max-active', 'per-group')
    ) as l
    where not o.is_stale
      and not o.too_late
      and o.retry > 0
      and l.most > 0
      and (o.slot is null or (o.slot > l.most and o.ready_at <= $6::timestamptz))
),
free as materialized (
    select
        d.queue_id,
        case
            when exists (
                select
                from pgdisque.slot as s
                join pgdisque.job as j on j.queue_id = any (array[s.queue_id]) and j.rank = s.rank and j.id = s.id
                where s.queue_id = any (array[d.queue_id])
                  and s.n > d.most
                  and {{runs_in(j, s, $6::timestamptz)}}
            ) then '{}'
            else array(
                select f.n
                from (
                    select s.n, s.turn
                    from pgdisque.slot as s
                    where s.queue_id = any (array[d.queue_id])
                      and s.n <= d.most
                      and not exists (
                          select from pgdisque.job as j
                          where j.queue_id = any (array[s.queue_id]) and j.rank = s.rank and j.id = s.id
                            and j.slot = s.n and j.expires_at > $6::timestamptz)
                    -- Keeps the planner from merging this subquery: the turns must come from the snapshot, for
                    -- the comparison.
                    offset 0
                ) as s
                join pgdisque.slot as f on f.queue_id = any (array[d.queue_id]) and f.n = s.n and f.turn = s.turn
                limit d.jobs
                for update of f skip locked)
        end as slots
    from (
        select distinct on (n.queue_id) n.queue_id, n.most, n.place as jobs
        from needing as n
        order by n.queue_id, n.place desc
    ) as d
),
given as materialized (
    select n.ordinal, n.queue_id, n.rank, n.id, f.slots[n.place::integer] as slot
    from needing as n
    join free as f on f.queue_id = n.queue_id
),
verdict as materialized (
    select
        o.*,
        g.slot as given_slot,
        g.ordinal is not null and g.slot is null as is_full,
        not o.is_stale and not o.too_late and o.retry > 0 and (g.ordinal is null or g.slot is not null) as is_done
    from old as o
    left join given as g on g.ordinal = o.ordinal
),
filled as (
    update pgdisque.slot as s
    set rank = g.rank, id = g.id, turn = s.turn + 1
    from given as g
    where s.queue_id = any (array[g.queue_id])
      and s.n = g.slot
),
extended as (
    update pgdisque.job as j
    set
        {{extend($6::timestamptz, $7::smallint)}},
        slot = coalesce(old.given_slot, j.slot)
    from verdict as old
    -- Joins by key, because a row that was waited for may have a new ctid.
    where j.queue_id = any (array[old.queue_id])
      and j.rank = old.rank
      and j.id = old.id
      and old.is_done
),
{{note_progress()}}
select
    old.ordinal::integer,
    case when not old.is_stale then old.lease end as lease,
    case
        when old.is_done then $6::timestamptz + (old.lease + old.wait) * interval '1 second'
        else old.ready_at
    end as ready_at,
    old.too_late,
    old.was_queued,
    old.was_until,
    old.last,
    old.is_full,
    old.is_cancelled
from verdict as old
