-- close_cancelled(waiting, now): closes the batches whose completion jobs are among the cancelled jobs
update pgdisque.batch as b
set closed_at = :now
from :waiting as w
where b.id = any (array[w.id])
  -- Not "is null": the planner would read all entries of batch_open.
  and (b.closed_at is not null) is not true
