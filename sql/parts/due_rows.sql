-- due_rows(is): the jobs of the parameters whose wake_at has passed, for wake_expired and wake_due
--
-- wake_next has found them in an earlier snapshot. Since then another session may have changed or locked them.
select d.ctid
from unnest($1::integer[], $2::smallint[], $3::bigint[]) as k (queue_id, rank, id)
cross join lateral (
    select o.ctid
    from pgdisque.job as o
    where o.queue_id = any (array[k.queue_id])
      and o.rank = k.rank
      and o.id = k.id
      -- Not job_wake: it has the index entries of all jobs, also of those that have ended.
      and (o.wake_at <= $4::timestamptz) is true
      and o.expires_at :is $4::timestamptz
    for update skip locked
) as d
