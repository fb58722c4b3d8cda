-- A page of one queue's jobs in key order: JSCAN QUEUE.
-- params: $1 queue_id, $2 rank, $3 id (after that key), $4 limit, $5 now, $6 with_body
-- returns: as peek_first; deliveries, attempts, backoff, deadqueue, error, died_at, unique_key, group_key
-- index: job_pkey
select
    j.queue_id, j.rank, j.id, j.ready_at, j.expires_at, j.wake_at is not distinct from j.ready_at as delayed,
    j.owner, j.retry, j.delay, j.nacks, j.extras, j.replicate,
    case when $6::boolean then j.body end as body,
    j.deliveries, j.attempts, j.backoff, j.deadqueue, j.error, null::timestamptz as died_at, j.unique_key, j.group_key
from pgdisque.job as j
where j.queue_id = $1::integer
  and (j.rank, j.id) > ($2::smallint, $3::bigint)
  and j.expires_at > $5::timestamptz
order by j.rank, j.id
limit $4::integer
