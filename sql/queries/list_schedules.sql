-- Reads all schedules: SCHEDULES.
-- returns: name, cron, queue, missed, next_at (null: not computed yet), last_at; in the order of the names
select s.name, s.cron, s.queue, s.missed, case when s.has_tick then s.next_at end as next_at, s.last_at
from pgdisque.schedule as s
order by s.name
