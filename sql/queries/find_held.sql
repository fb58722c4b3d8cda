-- Finds the leased jobs in a page of jobs: RELEASE. Jobs with retry 0 are left out.
-- params: $1 queue_id, $2 rank, $3 id (after that key), $4 queue_id (up to that queue), $5 limit (jobs to look
--         at), $6 now, $7 worker (null: all), $8 node (null: all)
-- returns: queue_id, rank, id, until (end of the lease); after a full page the last job that it looked at, with
--          null
-- index: job_pkey
with {{held_page($6::timestamptz)}}
select p.queue_id, p.rank, p.id, p.ready_at as until
from page as p
where p.is_held
  and p.retry > 0
  and ($7::text is null or p.worker = $7::text)
  and ($8::smallint is null or p.owner = $8::smallint)
union all
select e.queue_id, e.rank, e.id, null
from page_end as e
