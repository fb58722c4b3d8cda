-- Reads a page of queues in the order of their ids. Servers find queues without a message by it.
-- params: $1 queue_id (after that queue), $2 count, $3 now, $4 probe (false: has_jobs is false)
-- returns: id, has_jobs; in ascending order
-- index: queue_pkey, job_pkey
select
    q.id,
    $4::boolean and exists (
        select
        from pgdisque.job as j
        where j.queue_id = any (array[q.id])
          and j.expires_at > $3::timestamptz
    ) as has_jobs
from pgdisque.queue as q
where q.id > $1::integer
order by q.id
limit $2::integer
