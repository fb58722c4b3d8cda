-- Reads all queues with their counters and settings: at start.
-- returns: id, name, pause, created_at, setting, value, jobs_in, jobs_out; a row per setting, or one row with
--          nulls
select
    q.id, q.name, q.pause, q.created_at, s.name as setting, s.value,
    coalesce(c.jobs_in, 0) as jobs_in, coalesce(c.jobs_out, 0) as jobs_out
from pgdisque.queue as q
left join pgdisque.queue_counter as c on c.queue_id = q.id
left join pgdisque.queue_setting as s on s.queue_id = q.id
order by q.id
