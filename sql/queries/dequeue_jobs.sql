-- Takes ready jobs out of their queues. They are ready again after their retry time, or never if retry is 0.
-- params: $1 queue_id, $2 rank, $3 id, $4 now, $5 node
-- returns: ordinal, ready_at, was_until (since when it was queued: the end of its last lease, if it had one)
-- locks: the rows, in the order of the parameters; a deadlock is repeated by the server
-- index: job_pkey
with old as materialized (
    select k.ordinal, j.queue_id, j.rank, j.id, j.ready_at
    from unnest($1::integer[], $2::smallint[], $3::bigint[]) with ordinality as k (queue_id, rank, id, ordinal)
    join pgdisque.job as j on j.queue_id = any (array[k.queue_id]) and j.rank = k.rank and j.id = k.id
    where {{queued(j, $4::timestamptz)}}
    for update of j
)
update pgdisque.job as j
set ready_at = case
        when j.retry = 0 then 'infinity'
        else $4::timestamptz + j.retry * interval '1 second'
    end,
    additional_deliveries = j.additional_deliveries + case when j.owner is null then 0 else 1 end,
    owner = $5::smallint,
    worker = null,
    leased_at = null
from old
-- Joins by key, because a row that was waited for may have a new ctid.
where j.queue_id = any (array[old.queue_id])
  and j.rank = old.rank
  and j.id = old.id
returning old.ordinal::integer, j.ready_at, old.ready_at as was_until
