-- Reads the running leases: at start, and after a lost connection. Also reads leases that have ended since then, jobs
-- that are queued, but with a ready_at in the future because the clock was set back, and exhausted jobs.
-- params: $1 the time of the start, or of the lost connection, $2 now
-- returns: queue_id, rank, id, ready_at, owner (0: queued), last (attempt), worker (null: unknown)
select j.queue_id, j.rank, j.id, j.ready_at, coalesce(j.owner, 0::smallint) as owner,
    coalesce({{is_exhausted(j)}}, false) as last, case when j.owner is not null then j.worker end as worker
from pgdisque.job as j
where {{is_leased(j, $1::timestamptz)}}
    or (j.wake_at is distinct from j.ready_at and j.ready_at > $2::timestamptz)
    or {{is_exhausted(j)}}
