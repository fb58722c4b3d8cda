-- Delays jobs whose lease has ended by another retry time, because their queues are paused.
-- params: $1 queue_id, $2 rank, $3 id, $4 now
-- returns: ordinal, ready_at
-- locks: the rows, in the order of the parameters; a deadlock is repeated by the server
-- index: job_pkey
update pgdisque.job as j
set ready_at = $4::timestamptz + j.retry * interval '1 second'
from unnest($1::integer[], $2::smallint[], $3::bigint[]) with ordinality as k (queue_id, rank, id, ordinal)
where j.queue_id = any (array[k.queue_id])
  and j.rank = k.rank
  and j.id = k.id
  and j.retry > 0
  and j.owner is not null
  and j.ready_at <= $4::timestamptz
returning k.ordinal::integer, j.ready_at
