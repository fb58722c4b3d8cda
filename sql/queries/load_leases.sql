-- The leases that are running: at start, and after a connection was lost. And what is queued, but by a clock
-- that stood later than it does now: somebody has to look when its time comes again.
-- params: $1 now
-- returns: queue_id, rank, id, ready_at, owner (0: queued)
select j.queue_id, j.rank, j.id, j.ready_at, coalesce(j.owner, 0::smallint) as owner
from pgdisque.job as j
where j.ready_at > $1::timestamptz
  and (j.owner is not null or j.wake_at is distinct from j.ready_at)
