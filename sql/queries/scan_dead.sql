-- A page of all dead jobs in key order: JSCAN STATE dead.
-- params: $1 queue_id, $2 rank, $3 id (after that key), $4 limit, $5 with_body
-- returns: as scan_jobs
-- index: dead_pkey
select
    d.queue_id, d.rank, d.id, timestamptz 'infinity' as ready_at, d.expires_at, false as delayed,
    null::smallint as owner, d.retry, d.delay, d.nacks, d.extras, d.replicate,
    case when $5::boolean then d.body end as body,
    d.deliveries, d.attempts, d.backoff, null::bytea as deadqueue, d.error, d.died_at, d.unique_key,
    null::bytea as group_key
from pgdisque.dead_job as d
where (d.queue_id, d.rank, d.id) > ($1::integer, $2::smallint, $3::bigint)
order by d.queue_id, d.rank, d.id
limit $4::integer
