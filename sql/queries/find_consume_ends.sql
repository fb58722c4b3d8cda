-- Sets the consume ends of queues that have none, and reads the others.
-- params: $1 queue_id, $2 consume_end, one row per queue
-- returns: id, consume_end
-- locks: the rows of queues, in no order; the caller sends each queue once
-- index: queue_pkey
update pgdisque.queue as q
set consume_end = coalesce(q.consume_end, f.consume_end)
from unnest($1::integer[], $2::smallint[]) as f (queue_id, consume_end)
where q.id = any (array[f.queue_id])
returning q.id, q.consume_end
