-- Deletes the rows of queues that have been empty and unused, unless they got jobs or settings since then.
-- params: $1 queue_id, $2 id of this server
-- returns: id; the deleted queues
-- index: queue_pkey, job_pkey, dead_pkey, unique_key_pkey, queue_setting_pkey, queue_counter_pkey, batch_queue,
-- waiting_job_pkey, retained_0_pkey and the same of the other partitions
with gone as (
    delete from pgdisque.queue as q
    using unnest($1::integer[]) as d (queue_id)
    where q.id = d.queue_id
      and q.pause = 0
      and not exists (select from pgdisque.queue_setting as s where s.queue_id = q.id)
      -- Another server may know the queue's id, and may be about to add a job with it.
      and not exists (select from pgdisque.node as n where n.id <> $2::text and n.left_at is null)
      -- An SQL transaction may do so, too. api_queue draws a number before it gets the id.
      and not (select s.is_called from pgdisque.sql_job as s)
      and not exists (select from pgdisque.job as j where j.queue_id = q.id)
      and not exists (select from pgdisque.unique_key as k where k.queue_id = q.id)
      and not exists (select from pgdisque.dead_job as d where d.queue_id = q.id)
      and not exists (select from pgdisque.retained as f where f.queue_id = q.id)
      and not exists (select from pgdisque.waiting_job as w where w.queue_id = q.id)
      -- A batch may still add its success job or its failure job.
      and not exists (
        select
        from pgdisque.batch as b
        where b.queue_id = q.id
          and (
            b.success_body is not null and b.succeeded_at is null and not b.is_expired
            or b.failure_body is not null and b.failed_at is null and b.completed_at is null
          )
      )
    returning q.id
),
counters as (
    delete from pgdisque.queue_counter as c
    using gone
    where c.queue_id = gone.id
),
slots as (
    delete from pgdisque.slot as s
    using gone
    where s.queue_id = gone.id
),
tokens as (
    delete from pgdisque.bucket as b
    using gone
    where b.queue_id = gone.id
)
select gone.id
from gone
