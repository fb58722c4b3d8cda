-- Starts the retry time of jobs anew: WORKING. A queued job leaves its queue. Too late, and unchanged,
-- when half of the TTL is over; unchanged as well when retry is 0.
-- params: $1 queue_id, $2 rank, $3 id, $4 created_at, $5 now, $6 node
-- returns: ordinal, retry, ready_at, too_late, was_queued
-- locks: the rows, in the order of the parameters; a deadlock is repeated by the server
-- index: job_pkey
with old as materialized (
    select
        k.ordinal, j.queue_id, j.rank, j.id, j.retry, j.ready_at,
        $5::timestamptz - k.created_at > (j.expires_at - k.created_at) / 2 as too_late,
        j.ready_at <= $5::timestamptz and j.wake_at is distinct from j.ready_at as was_queued
    from unnest($1::integer[], $2::smallint[], $3::bigint[], $4::timestamptz[])
        with ordinality as k (queue_id, rank, id, created_at, ordinal)
    join pgdisque.job as j
        on j.queue_id = any (array[k.queue_id]) and j.rank = k.rank and j.id = k.id and j.expires_at > $5::timestamptz
    for update of j
),
extended as (
    update pgdisque.job as j
    set ready_at = $5::timestamptz + j.retry * interval '1 second',
        wake_at = case when j.wake_at is null then null else j.expires_at end,
        extras = j.extras + case when old.was_queued and j.owner is not null then 1 else 0 end,
        owner = $6::smallint
    from old
    -- By key: the row that was waited for may have another place than this statement's snapshot knows.
    where j.queue_id = any (array[old.queue_id])
      and j.rank = old.rank
      and j.id = old.id
      and not old.too_late
      and old.retry > 0
)
select
    old.ordinal::integer,
    old.retry,
    case
        when old.too_late or old.retry = 0 then old.ready_at
        else $5::timestamptz + old.retry * interval '1 second'
    end as ready_at,
    old.too_late,
    old.was_queued
from old
