-- How many dead jobs each queue has: at start, and after a connection was lost.
-- returns: queue_id, dead
select d.queue_id, count(*) as dead
from pgdisque.dead_job as d
group by d.queue_id
