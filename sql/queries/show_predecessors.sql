-- Reads the jobs that a job waits for or has waited for, with their results: PREDECESSORS.
-- params: $1 id
-- returns: queue_id, rank, id, expires_at, retry, outcome (null: it has not ended), result (the error if it has
--          failed); in the order of the ids
-- index: dependency_pkey, flow_job_pkey
select
    f.queue_id, f.rank, f.id, f.expires_at, f.retry, case when f.ended_at is not null then f.outcome end as outcome,
    f.result
from (
    select d.predecessor_id
    from pgdisque.dependency as d
    where d.successor_id = $1::bigint
    order by d.predecessor_id
    limit 1000
) as p
join pgdisque.flow_job as f on f.id = any (array[p.predecessor_id])
