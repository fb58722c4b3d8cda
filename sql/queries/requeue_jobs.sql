-- Puts jobs that are not queued back into their queues: NACK and ENQUEUE. At-most-once jobs (retry 0)
-- only if they were never queued before, which is to say that they are still delayed.
-- params: $1 queue_id, $2 rank, $3 id, $4 nack (1: NACK, 0: ENQUEUE), $5 now
-- returns: ordinal
-- locks: the rows, in the order of the parameters; a deadlock is repeated by the server
-- index: job_pkey
update pgdisque.job as j
set ready_at = $5::timestamptz,
    wake_at = case when j.wake_at is null then null else j.expires_at end,
    nacks = j.nacks + k.nack,
    extras = j.extras + case when k.nack = 0 and j.owner is not null then 1 else 0 end,
    owner = null
from unnest($1::integer[], $2::smallint[], $3::bigint[], $4::integer[])
    with ordinality as k (queue_id, rank, id, nack, ordinal)
where j.queue_id = any (array[k.queue_id])
  and j.rank = k.rank
  and j.id = k.id
  and j.ready_at > $5::timestamptz
  and j.expires_at > $5::timestamptz
  and (j.retry > 0 or j.owner is null)
returning k.ordinal::integer
