-- Counts the jobs of queues that wait for other jobs: QLEN queue AFTER, QLEN queue HELD.
-- params: $1 queue_id, $2 now, $3 with_held (1: held is counted)
-- returns: ordinal, waiting, held (the part whose predecessors are dead letters, or 0)
-- index: waiting_job_pkey, dependency_pkey, flow_job_pkey
select k.ordinal::integer, n.waiting, n.held
from unnest($1::integer[], $3::smallint[]) with ordinality as k (queue_id, with_held, ordinal)
cross join lateral (
    select count(*) as waiting, count(*) filter (where k.with_held <> 0 and {{is_held(w)}}) as held
    from pgdisque.waiting_job as w
    where w.queue_id = k.queue_id
      and w.outcome is null
      and w.has_body
      and {{is_after(w.expires_at, $2)}}
) as n
