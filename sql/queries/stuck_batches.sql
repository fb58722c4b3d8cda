-- Finds batches that are closed, have no pending job, and are not completed: after the crash of a server.
-- params: $1 limit
-- returns: id
-- index: batch_closed
select b.id
from pgdisque.batch as b
where b.completed_at is null
  and b.closed_at is not null
  and b.total = b.done + b.failed + b.cancelled
limit $1::integer
