-- The leases that are running: at start, and after a connection was lost.
-- params: $1 now
-- returns: queue_id, rank, id, ready_at, owner
select j.queue_id, j.rank, j.id, j.ready_at, j.owner
from pgdisque.job as j
where j.ready_at > $1::timestamptz
  and j.owner is not null
