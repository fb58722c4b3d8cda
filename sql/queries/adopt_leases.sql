-- Reads the running leases of failed servers, and exhausted jobs.
-- params: $1 now, $2 owner (numbers of the live servers)
-- returns: queue_id, rank, id, ready_at, owner, last (attempt)
-- index: none
select
    j.queue_id, j.rank, j.id, j.ready_at, coalesce(j.owner, 0::smallint) as owner,
    coalesce({{is_exhausted(j)}}, false) as last
from pgdisque.job as j
where (j.ready_at > $1::timestamptz and j.owner <> all ($2::integer[]))
    or (j.ready_at <= $1::timestamptz and {{is_exhausted(j)}})
