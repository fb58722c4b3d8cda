-- Reads a page of the leased jobs: RELEASE. Jobs with retry 0 are left out.
-- params: $1 queue_id, $2 rank, $3 id (after that key), $4 limit, $5 now, $6 worker (null: all), $7 node (null:
--         all)
-- returns: queue_id, rank, id, until (end of the lease); in key order
-- index: job_pkey
select j.queue_id, j.rank, j.id, j.ready_at as until
from pgdisque.job as j
where (j.queue_id, j.rank, j.id) > ($1::integer, $2::smallint, $3::bigint)
  and {{is_leased(j, $5::timestamptz)}}
  and j.expires_at > $5::timestamptz
  and j.retry > 0
  and ($6::text is null or j.worker = $6::text)
  and ($7::smallint is null or j.owner = $7::smallint)
order by j.queue_id, j.rank, j.id
limit $4::integer
