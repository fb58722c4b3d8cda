-- due_rows(): the first rows whose wake_at has passed, for wake_expired and wake_due
--
-- Each of the two statements changes its rows among these. A search for the rows of one kind alone would pass over
-- all rows of the other kind.
select d.ctid, d.expires_at
from pgdisque.job as d
where d.wake_at > $1::timestamptz
  and d.wake_at <= $2::timestamptz
order by d.wake_at
limit $3::integer
for update skip locked
