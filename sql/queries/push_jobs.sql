-- Adds the elements of list commands for which add_jobs_alike cannot be used. Elements of a lost first try may
-- exist.
-- params: $1 id, $2 ready_at, $3 expires_at, $4 wake_at, $5 queue_id, $6 retry, $7 attempts, $8 backoff, $9 deadqueue,
--         $10 body
-- returns: id; the added jobs, in the order of the parameters
-- index: job_pkey
{{insert_elements()}}
on conflict (queue_id, rank, id) do nothing
returning id
