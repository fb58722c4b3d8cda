-- Describes running jobs: WORKERS JOBS.
-- params: $1 queue_id, $2 rank, $3 id, $4 now
-- returns: ordinal, expires_at, retry, until (end of the lease), since (its beginning), deliveries, progress
-- index: job_pkey
select
    k.ordinal::integer, j.expires_at, j.retry, j.ready_at as until,
    coalesce(j.leased_at, j.ready_at - j.retry * interval '1 second') as since, j.deliveries, j.progress
from unnest($1::integer[], $2::smallint[], $3::bigint[]) with ordinality as k (queue_id, rank, id, ordinal)
join pgdisque.job as j on j.queue_id = any (array[k.queue_id]) and j.rank = k.rank and j.id = k.id
where {{is_leased(j, $4::timestamptz)}}
  and j.expires_at > $4::timestamptz
