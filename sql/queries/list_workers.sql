-- Counts the jobs that each worker has leased, in a page of jobs: WORKERS.
-- params: $1 queue_id, $2 rank, $3 id (after that key), $4 queue_id (up to that queue), $5 limit (jobs to look
--         at), $6 now
-- returns: queue_id, owner (node), worker (null: unknown, or not yet written), jobs, until (end of the first
--          lease, or null: never), rank, id (both null); in the order of the queues; after a full page the key of
--          the last job that it looked at, with null in the other columns
-- index: job_pkey
with {{held_page($6::timestamptz)}}
(
    select
        p.queue_id, p.owner, p.worker, count(*) as jobs, nullif(min(p.ready_at), 'infinity') as until,
        null::smallint as rank, null::bigint as id
    from page as p
    where p.is_held
    group by p.queue_id, p.owner, p.worker
    order by p.queue_id, p.owner, p.worker
)
union all
select e.queue_id, null, null, null, null, e.rank, e.id
from page_end as e
