-- Puts back jobs that no client received, as if they had never been delivered. A lease with another end is of a later
-- delivery, and stays. A cancelled job is not queued: its lease ends, and dead_letter_jobs deletes it.
-- params: $1 queue_id, $2 rank, $3 id, $4 now, $5 node, $6 until (end of the lease)
-- returns: ordinal, is_cancelled
-- locks: the rows, in the order of the parameters; a deadlock is repeated by the server
-- index: job_pkey
update pgdisque.job as j
set ready_at = $4::timestamptz,
    deliveries = j.deliveries - 1,
    owner = null,
    slot = null
from unnest($1::integer[], $2::smallint[], $3::bigint[], $6::timestamptz[]) with ordinality
    as k (queue_id, rank, id, until, ordinal)
where j.queue_id = any (array[k.queue_id])
  and j.rank = k.rank
  and j.id = k.id
  and j.owner = $5::smallint
  and j.ready_at = k.until
  and j.ready_at > $4::timestamptz
returning k.ordinal::integer, {{is_cancelled(j)}} as is_cancelled
