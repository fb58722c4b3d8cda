-- Adds elements in a client transaction to lists that have elements: LPUSHX and RPUSHX. Earlier statements of
-- the transaction may have pushed or taken elements.
-- params: as push_jobs, then $11 now
-- returns: id; the added jobs, in the order of the parameters
-- index: job_pkey
{{insert_elements()}}
cross join lateral (
    select
    from pgdisque.job as r
    where r.queue_id = a.queue_id
      and {{queued(r, $11::timestamptz)}}
    limit 1
) as l
returning id
