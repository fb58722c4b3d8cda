-- Reads the next wake_at.
-- params: $1 from (wake_at later than)
-- returns: wake_at; or no row
-- index: job_wake
select j.wake_at
from pgdisque.job as j
where j.wake_at > $1::timestamptz
order by j.wake_at
limit 1
