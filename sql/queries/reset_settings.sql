-- Removes all settings of queues: QCONFIG RESET.
-- params: $1 queue_id
-- locks: the rows
-- index: queue_setting_pkey
delete from pgdisque.queue_setting as s
using unnest($1::integer[]) as k (queue_id)
where s.queue_id = any (array[k.queue_id])
