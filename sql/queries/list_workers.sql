-- Who works on what: WORKERS.
-- params: $1 queue_id, $2 queue_id (from the one to the other), $3 now
-- returns: owner (node), worker (null: not known, or not yet), queue (name), jobs, until (when the first of the
--          leases ends; null: never); in the order of the first three
-- index: none, or that of one queue
select
    j.owner, j.worker, q.name as queue, count(*) as jobs, nullif(min(j.ready_at), 'infinity') as until
from pgdisque.job as j
join pgdisque.queue as q on q.id = j.queue_id
where j.queue_id between $1::integer and $2::integer
  and j.owner is not null
  and j.ready_at > $3::timestamptz
  and j.expires_at > $3::timestamptz
group by j.owner, j.worker, q.name
order by j.owner, j.worker, q.name
