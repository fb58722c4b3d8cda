-- Stores pause states.
-- params: $1 queue_id, $2 pause
-- index: queue_pkey
update pgdisque.queue as q
set pause = p.pause
from unnest($1::integer[], $2::smallint[]) as p (queue_id, pause)
where q.id = p.queue_id
