-- Counts the jobs that wait for other jobs, in a page of them: QSTAT and INFO.
-- params: $1 queue_id, $2 rank, $3 id (the page begins after this job), $4 limit, $5 now
-- returns: queue_id, rank, id (of the last job of a queue in the page), waiting; in the order of queue_id
-- index: waiting_job_pkey
with page as materialized (
    select w.queue_id, w.rank, w.id, w.outcome is null and w.has_body and w.expires_at > $5::timestamptz as waits
    from pgdisque.waiting_job as w
    where (w.queue_id, w.rank, w.id) > ($1::integer, $2::smallint, $3::bigint)
    order by w.queue_id, w.rank, w.id
    limit $4::integer
)
select n.queue_id, n.rank, n.id, n.waiting
from (
    select
        p.queue_id, p.rank, p.id,
        count(*) filter (where p.waits) over (partition by p.queue_id) as waiting,
        lead(p.id) over (partition by p.queue_id order by p.rank, p.id) is null as is_last
    from page as p
) as n
where n.is_last
order by n.queue_id
