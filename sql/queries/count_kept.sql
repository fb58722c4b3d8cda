-- Counts the retained jobs of queues: QLEN queue DONE, and QSTAT of a queue with a retention.
-- params: $1 queue_id, $2 now
-- returns: ordinal, kept
-- index: retained_0_pkey and the same of the other partitions
select k.ordinal::integer, n.kept
from unnest($1::integer[]) with ordinality as k (queue_id, ordinal)
cross join lateral (
    select count(*) as kept
    from pgdisque.retained as f
    where f.queue_id = k.queue_id
      and f.keep_until > $2::timestamptz
) as n
