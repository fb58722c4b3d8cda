-- Extends the lease of jobs by their retry time: WORKING. A queued job leaves its queue. The job is unchanged,
-- and too_late is set, when half of the time to live is over and the caller has no token. It is also unchanged if
-- retry is 0.
--
-- Jobs of queues with max-active need working_limited.
-- params: $1 queue_id, $2 rank, $3 id, $4 created_at, $5 seconds (null: the retry time), $6 now, $7 node,
--         $8 token (none, 0, or that of the last delivery), $9 worker (name of the caller, for a job without a
--         worker name), $10 progress (null: none)
-- returns: ordinal, lease (seconds the client has; null: the token is stale, and the job is unchanged),
--          ready_at, too_late, was_queued, was_until, last (attempt), is_full (false: no job needs a slot),
--          is_cancelled (and too_late)
-- locks: the rows, in the order of the parameters; a deadlock is repeated by the server
-- index: job_pkey
with {{working()}},
extended as (
    update pgdisque.job as j
    set
        {{extend($6::timestamptz, $7::smallint)}}
    from old
    -- Joins by key, because a row that was waited for may have a new ctid.
    where j.queue_id = any (array[old.queue_id])
      and j.rank = old.rank
      and j.id = old.id
      and not old.is_stale
      and not old.too_late
      and old.retry > 0
),
{{note_progress()}}
select
    old.ordinal::integer,
    case when not old.is_stale then old.lease end as lease,
    case
        when old.is_stale or old.too_late or old.retry = 0 then old.ready_at
        else $6::timestamptz + (old.lease + old.wait) * interval '1 second'
    end as ready_at,
    old.too_late,
    old.was_queued,
    old.was_until,
    old.last,
    false as is_full,
    old.is_cancelled
from old
