-- Adds jobs whose first try may have been committed before the connection was lost. Existing jobs are left unchanged.
-- params: as add_rare
-- returns: id; the added jobs, in the order of the parameters
-- index: job_pkey
{{insert_rare()}}
on conflict (queue_id, rank, id) do nothing
returning id
