-- Counts the dead jobs of each queue: at start, and after a lost connection.
-- returns: queue_id, dead
select d.queue_id, count(*) as dead
from pgdisque.dead_job as d
group by d.queue_id
