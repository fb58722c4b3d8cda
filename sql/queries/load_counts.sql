-- Counts the jobs and the ready jobs of each queue, and its dead jobs: at start, and after a lost connection. Delayed
-- jobs whose time has come are not counted as ready, because wake_due will count them.
-- params: $1 now
-- returns: queue_id (a queue with jobs and with dead jobs has two rows), jobs, queued, delayed, waiting,
--          oldest_id (of the jobs that expire in key order; null: none), first_rank, first_id (no ready job has a lower
--          rank, or a lower id; null: no job is ready), dead
-- index: none. The + 0 prevents one, because reading every row by the index takes ten times as many pages
select
    j.queue_id + 0 as queue_id,
    count(*) as jobs,
    count(*) filter (
        where {{counted(j, $1::timestamptz)}}
    ) as queued,
    count(*) filter (where {{is_delayed(j)}}) as delayed,
    count(*) filter (where {{waits_in_group(j)}}) as waiting,
    min(j.id) filter (where j.wake_at is null) as oldest_id,
    min(j.rank) filter (
        where {{counted(j, $1::timestamptz)}}
    ) as first_rank,
    min(j.id) filter (
        where {{counted(j, $1::timestamptz)}}
    ) as first_id,
    0::bigint as dead
from pgdisque.job as j
group by j.queue_id + 0
union all
select d.queue_id, 0, 0, 0, 0, null, null, null, count(*)
from pgdisque.dead_job as d
group by d.queue_id
