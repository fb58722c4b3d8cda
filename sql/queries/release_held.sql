-- Takes leased jobs from their workers, and puts them back into their queues: RELEASE. That counts as an
-- additional delivery. A job whose lease has another end by now is skipped: it was delivered again, or its
-- lease was extended.
-- params: $1 queue_id, $2 rank, $3 id, $4 until (end of the lease), $5 now
-- returns: ordinal, last (the job is exhausted: it must become a dead letter)
-- locks: the rows, in the order of the parameters; a deadlock is repeated by the server
-- index: job_pkey
update pgdisque.job as j
set ready_at = $5::timestamptz,
    additional_deliveries = j.additional_deliveries + 1,
    owner = null,
    slot = null
from unnest($1::integer[], $2::smallint[], $3::bigint[], $4::timestamptz[]) with ordinality
    as k (queue_id, rank, id, until, ordinal)
where j.queue_id = any (array[k.queue_id])
  and j.rank = k.rank
  and j.id = k.id
  and j.ready_at = k.until
  and {{is_leased(j, $5::timestamptz)}}
  and j.expires_at > $5::timestamptz
returning k.ordinal::integer, coalesce({{is_exhausted(j)}}, false) as last
