-- Counts the jobs and the ready jobs of queues: counter audit. Delayed jobs whose time has come are not counted
-- as ready, because wake_due will count them.
-- params: $1 queue_id, $2 now
-- returns: queue_id, jobs, queued, jobs_in, jobs_out, dead, delayed, waiting
-- index: job_pkey, queue_counter_pkey, dead_pkey
select
    k.queue_id, n.jobs, n.queued, coalesce(c.jobs_in, 0) as jobs_in, coalesce(c.jobs_out, 0) as jobs_out,
    (select count(*) from pgdisque.dead_job as d where d.queue_id = k.queue_id) as dead, n.delayed, n.waiting
from unnest($1::integer[]) as k (queue_id)
cross join lateral (
    select
        count(*) as jobs,
        count(*) filter (
            where {{counted(j, $2::timestamptz)}}
        ) as queued,
        count(*) filter (where {{is_delayed(j)}}) as delayed,
        count(*) filter (where {{waits_in_group(j)}}) as waiting
    from pgdisque.job as j
    where j.queue_id = k.queue_id
) as n
left join pgdisque.queue_counter as c on c.queue_id = k.queue_id
