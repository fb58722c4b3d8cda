-- Finds the leased jobs in a page of jobs, with their workers: WORKERS.
-- params: $1 queue_id, $2 rank, $3 id (after that key), $4 queue_id (up to that queue), $5 limit (jobs to look
--         at), $6 now
-- returns: queue_id, rank, id, owner (node), worker (null: unknown, or not yet written), until (end of the lease;
--          infinity: never); in key order; after a full page the last job that it looked at, with null
-- index: job_pkey
with {{held_page($6::timestamptz)}}
select p.queue_id, p.rank, p.id, p.owner, p.worker, p.ready_at as until
from page as p
where p.is_held
union all
select e.queue_id, e.rank, e.id, null, null, null
from page_end as e
