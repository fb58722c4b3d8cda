-- Reads a page of the jobs of a batch that have not ended: BATCH CANCEL.
-- params: $1 id (of the batch), $2 id (the page begins after it), $3 limit
-- returns: queue_id, rank, id, is_batch; in the order of the ids
-- index: flow_job_batch, batch_pkey
select
    m.queue_id, m.rank, m.id,
    exists (select from pgdisque.batch as b where b.id = m.id) as is_batch
from (
    select f.queue_id, f.rank, f.id
    from pgdisque.flow_job as f
    where f.batch_id is not null
      and f.batch_id + 0 = $1::bigint
      and f.id + 0 > $2::bigint
      and f.ended_at is null
    order by f.id + 0
    limit $3::integer
) as m
