-- Finds the first rows whose wake_at has passed, and the next row after them. It changes and locks nothing.
-- params: $1 from (wake_at later than), $2 now, $3 limit, $4 end of the search for the next row
-- returns: queue_id, rank, id, wake_at, is_expired; in no order. At most one row has a wake_at after now, and only
--          if there are fewer other rows than the limit
-- index: job_wake
with due as (
    select j.queue_id, j.rank, j.id, j.wake_at, j.expires_at <= $2::timestamptz as is_expired
    from pgdisque.job as j
    where j.wake_at > $1::timestamptz
      and j.wake_at <= $2::timestamptz
    order by j.wake_at
    limit $3::integer
)
select d.queue_id, d.rank, d.id, d.wake_at, d.is_expired
from due as d
union all
select n.queue_id, n.rank, n.id, n.wake_at, false as is_expired
from (
    select j.queue_id, j.rank, j.id, j.wake_at
    from pgdisque.job as j
    where j.wake_at > $2::timestamptz
      and j.wake_at <= $4::timestamptz
      and (select count(*) from due) < $3::integer
    order by j.wake_at
    limit 1
) as n
