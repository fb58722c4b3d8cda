-- The leases that are running: at start, and after a connection was lost. And what is queued, but by a clock
-- that stood later than it does now: somebody has to look when its time comes again. And what is to be buried.
-- params: $1 now
-- returns: queue_id, rank, id, ready_at, owner (0: queued), last (attempt)
select j.queue_id, j.rank, j.id, j.ready_at, coalesce(j.owner, 0::smallint) as owner,
    coalesce(j.deliveries >= j.attempts, false) as last
from pgdisque.job as j
where (
        j.ready_at > $1::timestamptz
        and (j.owner is not null or j.wake_at is distinct from j.ready_at)
    )
    or j.deliveries >= j.attempts
