-- Finds waiting jobs whose time to live is over.
-- params: $1 now, $2 limit
-- returns: id
-- index: waiting_job_expiry
select w.id
from pgdisque.waiting_job as w
where w.expires_at <= $1::timestamptz
order by w.expires_at
limit $2::integer
