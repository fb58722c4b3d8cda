-- Counts the running jobs of queues with a limit: QSTAT.
-- params: $1 queue_id, $2 now
-- returns: ordinal, running
-- index: slot_pkey, job_pkey
select k.ordinal::integer, n.running
from unnest($1::integer[]) with ordinality as k (queue_id, ordinal)
cross join lateral (
    select count(*) as running
    from pgdisque.slot as s
    join pgdisque.job as j
        on j.queue_id = any (array[k.queue_id]) and j.rank = s.rank and j.id = s.id
    where s.queue_id = k.queue_id
      and {{runs_in(j, s, $2::timestamptz)}}
) as n
