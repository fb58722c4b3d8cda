-- Describes a batch: BATCH SHOW.
-- params: $1 id (also of a job of the batch, or of its failure job or success job)
-- returns: queue_id, rank, id, retry, created_at, closed_at, completed_at, failed_at, total, done, failed, cancelled,
--          parent_queue_id, parent_rank, parent_id, parent_retry (null: no parent), succeeded_at, closes_at; or no row
-- index: batch_pkey, flow_job_pkey, batch_failure, batch_success
select
    b.queue_id, b.rank, b.id, b.retry, b.created_at, b.closed_at, b.completed_at, b.failed_at, b.total, b.done,
    b.failed, b.cancelled, p.queue_id as parent_queue_id, p.rank as parent_rank, p.id as parent_id,
    p.retry as parent_retry, b.succeeded_at, b.closes_at
from pgdisque.batch as b
left join lateral (
    select o.queue_id, o.rank, o.id, o.retry
    from pgdisque.batch as o
    where o.id = any (array(select f.batch_id from pgdisque.flow_job as f where f.id = b.id))
    limit 1
) as p on true
where b.id = (
    select coalesce(
        (select o.id from pgdisque.batch as o where o.id = $1::bigint),
        (select o.id from pgdisque.batch as o where o.failure_id = $1::bigint limit 1),
        (select o.id from pgdisque.batch as o where o.success_id = $1::bigint limit 1),
        (select m.batch_id from pgdisque.flow_job as m where m.id = $1::bigint))
)
