-- close_cancelled(waiting, now): closes the batches whose completion jobs are among the cancelled jobs
update pgdisque.batch as b
set closed_at = :now
from :waiting as w
where b.id = any (array[w.id])
  and b.closed_at is null
