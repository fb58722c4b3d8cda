-- The queues to which batches may still add jobs.

set local search_path = pg_catalog, pg_temp;

-- A success job may come long after its batch is complete. A failure job may come after its completion job was
-- cancelled. Then pgdisque.waiting_job has no row of the batch.
create index batch_queue on pgdisque.batch (queue_id)
where success_body is not null and succeeded_at is null and not is_expired
   or failure_body is not null and failed_at is null and completed_at is null;
