-- Adds the changes since the last call to the counters of queues. A queue may occur several times, because
-- changes are kept while the database cannot be reached.
-- params: $1 queue_id, $2 jobs_in, $3 jobs_out: the differences
-- locks: the rows, in the order of queue_id
-- index: queue_counter_pkey
insert into pgdisque.queue_counter as c (queue_id, jobs_in, jobs_out)
select d.queue_id, sum(d.jobs_in)::bigint, sum(d.jobs_out)::bigint
from unnest($1::integer[], $2::bigint[], $3::bigint[]) as d (queue_id, jobs_in, jobs_out)
group by d.queue_id
order by d.queue_id
on conflict (queue_id) do update
set jobs_in = c.jobs_in + excluded.jobs_in,
    jobs_out = c.jobs_out + excluded.jobs_out
