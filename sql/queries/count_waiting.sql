-- Counts the jobs of queues that wait for other jobs: QLEN queue AFTER.
-- params: $1 queue_id, $2 now
-- returns: ordinal, waiting
-- index: waiting_job_pkey
select k.ordinal::integer, n.waiting
from unnest($1::integer[]) with ordinality as k (queue_id, ordinal)
cross join lateral (
    select count(*) as waiting
    from pgdisque.waiting_job as w
    where w.queue_id = k.queue_id
      and w.outcome is null
      and w.expires_at > $2::timestamptz
) as n
