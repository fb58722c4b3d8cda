-- Writes the names of workers into jobs whose leases have lasted for a while.
-- params: $1 queue_id, $2 rank, $3 id, $4 until (end of the lease; a lease with another end may be another
--         worker's), $5 worker, $6 node
-- locks: the rows; skips locked rows
-- index: job_pkey
with held as materialized (
    select j.queue_id, j.rank, j.id, convert_from(k.worker, 'UTF8') as worker
    from unnest($1::integer[], $2::smallint[], $3::bigint[], $4::timestamptz[], $5::bytea[])
        as k (queue_id, rank, id, until, worker)
    join pgdisque.job as j on j.queue_id = any (array[k.queue_id]) and j.rank = k.rank and j.id = k.id
    where j.ready_at = k.until
      and j.owner = $6::smallint
    for update of j skip locked
)
update pgdisque.job as j
set worker = held.worker
from held
where j.queue_id = any (array[held.queue_id])
  and j.rank = held.rank
  and j.id = held.id
