-- Reads queues that a peer reported as new or changed.
-- params: $1 queue_id
-- returns: id, name, pause, created_at, setting, value; a row per setting, the rows of a queue together, or one
--          row with nulls
-- index: queue_pkey, queue_setting_pkey
select q.id, q.name, q.pause, q.created_at, s.name as setting, s.value
from unnest($1::integer[]) as k (queue_id)
join pgdisque.queue as q on q.id = any (array[k.queue_id])
left join pgdisque.queue_setting as s on s.queue_id = any (array[q.id])
