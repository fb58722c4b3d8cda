-- The queued jobs of one queue from the last one on, as elements of a list: LRANGE, LINDEX.
-- params: $1 queue_id, $2 rank, $3 id (nothing ready lies at or before), $4 offset, $5 limit (null: none), $6 now
-- returns: body; in the order of the list, or the other way round
-- index: job_pkey backwards
select r.body
from pgdisque.job as r
where r.queue_id = $1::integer
  and (r.rank, r.id) > ($2::smallint, $3::bigint)
  and r.ready_at <= $6::timestamptz
  and r.expires_at > $6::timestamptz
  and r.wake_at is distinct from r.ready_at
  and (r.deliveries < r.attempts) is not false
order by r.rank desc, r.id desc
limit $5::bigint
offset $4::bigint
