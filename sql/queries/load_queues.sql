-- All queues with their counters: at start.
-- returns: id, name, pause, created_at, jobs_in, jobs_out
select
    q.id, q.name, q.pause, q.created_at,
    coalesce(c.jobs_in, 0) as jobs_in, coalesce(c.jobs_out, 0) as jobs_out
from pgdisque.queue as q
left join pgdisque.queue_counter as c on c.queue_id = q.id
order by q.id
