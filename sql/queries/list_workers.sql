-- Counts the jobs that each worker has leased: WORKERS.
-- params: $1 queue_id, $2 queue_id (first and last queue), $3 now
-- returns: owner (node), worker (null: unknown, or not yet written), queue (name), jobs, until (end of the
--          first lease; null: never); in the order of the first three
-- index: none, or that of one queue
select
    j.owner, j.worker, q.name as queue, count(*) as jobs, nullif(min(j.ready_at), 'infinity') as until
from pgdisque.job as j
join pgdisque.queue as q on q.id = j.queue_id
where j.queue_id between $1::integer and $2::integer
  and {{is_leased(j, $3::timestamptz)}}
  and j.expires_at > $3::timestamptz
group by j.owner, j.worker, q.name
order by j.owner, j.worker, q.name
