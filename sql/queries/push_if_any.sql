-- Adds elements in a client transaction to lists that have elements: LPUSHX and RPUSHX. Earlier statements of
-- the transaction may have pushed or taken elements.
-- params: as add_jobs, then $16 now
-- returns: id; the added jobs, in the order of the parameters
-- index: job_pkey
{{insert_jobs()}}
cross join lateral (
    select
    from pgdisque.job as r
    where r.queue_id = a.queue_id
      and {{queued(r, $16::timestamptz)}}
    limit 1
) as l
returning id
