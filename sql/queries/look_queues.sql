-- Reads a page of the queues: after a lost connection, and after missed messages of peers.
-- params: $1 id before the page, $2 most queues
-- returns: id, name, pause, created_at, setting, value; a row per setting, in the order of the queues, or one row with
--          nulls
-- index: queue_pkey, queue_setting_pkey
select q.id, q.name, q.pause, q.created_at, s.name as setting, s.value
from (
    select p.id, p.name, p.pause, p.created_at
    from pgdisque.queue as p
    where p.id > $1::integer
    order by p.id
    limit $2::integer
) as q
left join pgdisque.queue_setting as s on s.queue_id = any (array[q.id])
order by q.id
