-- Reads the consume end of queues. The first request with a wish sets it.
-- params: $1 queue_id, $2 front (null: no wish), one row per queue
-- returns: id, front
-- locks: the rows of queues, in no order; the caller sends each queue once
-- index: queue_pkey
update pgdisque.queue as q
set front = coalesce(q.front, f.front)
from unnest($1::integer[], $2::smallint[]) as f (queue_id, front)
where q.id = any (array[f.queue_id])
returning q.id, q.front
