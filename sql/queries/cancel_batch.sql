-- Closes a batch for good: BATCH CANCEL. It takes no more jobs, also none of its own jobs.
-- params: $1 id (also of a job of the batch)
-- returns: id (of the batch); no row: it is unknown or complete
-- locks: the batch
-- index: batch_pkey, flow_job_pkey
update pgdisque.batch as b
set is_cancelled = true, closed_at = coalesce(b.closed_at, clock_timestamp())
where b.id = {{named_batch($1::bigint)}}
  and b.completed_at is null
returning b.id
