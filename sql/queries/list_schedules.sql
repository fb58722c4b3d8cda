-- Reads all schedules: SCHEDULES.
-- returns: name, cron, queue, missed, next_at, last_at; in the order of the names
select s.name, s.cron, s.queue, s.missed, s.next_at, s.last_at
from pgdisque.schedule as s
order by s.name
