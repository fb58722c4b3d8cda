-- How many jobs each queue has, and how many of them are queued: at start.
-- params: $1 now
-- returns: queue_id, jobs, queued
select
    j.queue_id,
    count(*) as jobs,
    count(*) filter (where j.ready_at <= $1::timestamptz) as queued
from pgdisque.job as j
group by j.queue_id
