-- The last queued jobs of a queue, newest first, not taken: QPEEK with a negative count.
-- params: $1 queue_id, $2 rank, $3 id (nothing ready lies at or before), $4 limit, $5 now
-- returns: as peek_first
-- index: job_pkey, backwards
select
    j.queue_id, j.rank, j.id, j.ready_at, j.expires_at, j.wake_at is not distinct from j.ready_at as delayed,
    j.owner, j.retry, j.delay, j.nacks, j.extras, j.replicate, j.body
from pgdisque.job as j
where j.queue_id = $1::integer
  and (j.rank, j.id) > ($2::smallint, $3::bigint)
  and j.ready_at <= $5::timestamptz
  and j.expires_at > $5::timestamptz
  and (j.deliveries >= j.attempts) is not true
order by j.rank desc, j.id desc
limit $4::integer
