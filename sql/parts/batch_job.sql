-- batch_job(batches, id, body, now): adds the failure jobs or the success jobs of batches
--
-- id and body are the columns of that job.
insert into pgdisque.job (id, ready_at, expires_at, wake_at, queue_id, retry, rank, body)
select b.:id, :now, x.expires_at, x.expires_at, b.queue_id, b.retry, b.rank, b.:body
from :batches as b
cross join lateral (
    select {{created_at(b.:id)}} + 2147483647 * interval '1 second' as expires_at
) as x
returning queue_id, rank, id, expires_at, retry
