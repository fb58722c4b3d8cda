-- Forgets queues that have been empty and idle, unless jobs have come meanwhile.
-- params: $1 queue_id
-- returns: id of those forgotten
-- index: queue_pkey, job_pkey, queue_counter_pkey
with gone as (
    delete from pgdisque.queue as q
    using unnest($1::integer[]) as d (queue_id)
    where q.id = d.queue_id
      and q.pause = 0
      -- Another server may know the queue's number and be about to add a job under it.
      and (select count(*) from pgdisque.node) <= 1
      and not exists (select from pgdisque.job as j where j.queue_id = q.id)
    returning q.id
),
counters as (
    delete from pgdisque.queue_counter as c
    using gone
    where c.queue_id = gone.id
)
select gone.id
from gone
