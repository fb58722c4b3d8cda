-- How many jobs each queue has, and how many of them are queued: at start, and after a connection was lost.
-- Delayed jobs whose time has come are not counted as queued, because wake_due is about to count them.
-- params: $1 now
-- returns: queue_id, jobs, queued, oldest_id (of those that expire in key order; null: none),
--          first_rank and first_id (none that is queued has a lower one; null: none is queued)
-- index: none, and + 0 keeps it so: to fetch every row by the index reads ten times as many pages
select
    j.queue_id + 0 as queue_id,
    count(*) as jobs,
    count(*) filter (
        where j.ready_at <= $1::timestamptz
          and j.wake_at is distinct from j.ready_at
          and (j.deliveries >= j.attempts) is not true
    ) as queued,
    min(j.id) filter (where j.wake_at is null) as oldest_id,
    min(j.rank) filter (
        where j.ready_at <= $1::timestamptz
          and j.wake_at is distinct from j.ready_at
          and (j.deliveries >= j.attempts) is not true
    ) as first_rank,
    min(j.id) filter (
        where j.ready_at <= $1::timestamptz
          and j.wake_at is distinct from j.ready_at
          and (j.deliveries >= j.attempts) is not true
    ) as first_id
from pgdisque.job as j
group by j.queue_id + 0
