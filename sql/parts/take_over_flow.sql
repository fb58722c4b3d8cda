-- take_over_flow(): the end of an insert into pgdisque.flow_job as f, for a job that was moved to another queue
--
-- The job in the former queue had the same number, and its end is counted: for its successors, and for its batch, which
-- the moved job has left.
on conflict on constraint flow_job_pkey do update
set batch_id = null, queue_id = excluded.queue_id, rank = excluded.rank, expires_at = excluded.expires_at,
    retry = excluded.retry, outcome = excluded.outcome, result = excluded.result, ended_at = excluded.ended_at,
    is_settled = excluded.is_settled, after_failure = false, turn = f.turn + 1
where f.is_settled
  and (f.queue_id <> excluded.queue_id or f.rank <> excluded.rank)
