-- Reads the consume ends of queues.
-- params: $1 queue_id
-- returns: id, consume_end; without missing queues
-- index: queue_pkey
select q.id, q.consume_end
from unnest($1::integer[]) as k (queue_id)
join pgdisque.queue as q on q.id = any (array[k.queue_id])
