-- Sets when queued jobs of a queue between two keys expire, the first ones up to a limit: EXPIRE, PERSIST.
-- params: $1 queue_id, $2 rank, $3 id (the first key, excluded), $4 last rank, $5 last id (included), $6 limit,
--         $7 now, $8 expires_at, $9 wake_at (null: none), $10 before (only jobs that expire by then)
-- returns: rank, id, end_rank, end_id (the last key of the queue, in any state); in no order
-- locks: the rows; skips locked rows
-- index: job_pkey, then by ctid
with {{queue_end()}}
update pgdisque.job as j
set expires_at = $8::timestamptz,
    wake_at = $9::timestamptz,
    own_expires_at = coalesce(j.own_expires_at, j.expires_at)
from queue_end as e
where j.ctid = any (array(
    select r.ctid
    from pgdisque.job as r
    where r.queue_id = $1::integer
      and (r.rank, r.id) > ($2::smallint, $3::bigint)
      and (r.rank, r.id) <= ($4::smallint, $5::bigint)
      and {{queued(r, $7::timestamptz)}}
      and r.expires_at <= $10::timestamptz
    order by r.rank, r.id
    limit $6::integer
    for update skip locked
))
returning j.rank, j.id, e.rank as end_rank, e.id as end_id
