-- Adds what has happened since the last time to the counters of queues.
-- params: $1 queue_id (in order), $2 jobs_in, $3 jobs_out: the differences
-- index: queue_counter_pkey
insert into pgdisque.queue_counter as c (queue_id, jobs_in, jobs_out)
select d.queue_id, d.jobs_in, d.jobs_out
from unnest($1::integer[], $2::bigint[], $3::bigint[]) as d (queue_id, jobs_in, jobs_out)
on conflict (queue_id) do update
set jobs_in = c.jobs_in + excluded.jobs_in,
    jobs_out = c.jobs_out + excluded.jobs_out
