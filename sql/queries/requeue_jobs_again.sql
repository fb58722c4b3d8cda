-- Puts jobs back into their queues whose first try may have been committed before the connection died: what
-- that has done is not done twice. It left the job queued since then, or, given out again before anybody
-- knew of the loss, under a lease that nobody has: that counts as if it had never been. A lease that began
-- before the first try shows that the first try did nothing.
-- params: $1 queue_id, $2 rank, $3 id, $4 nack (1: NACK, 0: ENQUEUE), $5 first (now of the first try),
--         $6 lost (when it was known that it is lost), $7 now, $8 node
-- returns: ordinal, was_queued
-- locks: the rows, in the order of the parameters; a deadlock is repeated by the server
-- index: job_pkey
with old as materialized (
    select
        k.ordinal, k.nack, k.first, j.queue_id, j.rank, j.id, j.ready_at, j.wake_at, j.expires_at, j.retry, j.owner,
        j.owner is null and j.ready_at = k.first as is_done,
        coalesce(j.owner = $8::smallint, false)
            and j.ready_at - j.retry * interval '1 second' between k.first and k.lost as is_stray
    from unnest(
        $1::integer[], $2::smallint[], $3::bigint[], $4::integer[], $5::timestamptz[], $6::timestamptz[]
    ) with ordinality as k (queue_id, rank, id, nack, first, lost, ordinal)
    join pgdisque.job as j
        on j.queue_id = any (array[k.queue_id]) and j.rank = k.rank and j.id = k.id and j.expires_at > $7::timestamptz
    for update of j
),
requeued as (
    update pgdisque.job as j
    set ready_at = old.first,
        wake_at = case when old.wake_at is null then null else old.expires_at end,
        deliveries = j.deliveries - case when old.is_stray then 1 else 0 end,
        nacks = j.nacks + case when old.is_done or old.is_stray then 0 else old.nack end,
        extras = j.extras
            + case when old.nack = 0 and old.owner is not null and not old.is_stray then 1 else 0 end,
        owner = null
    from old
    where j.queue_id = any (array[old.queue_id])
      and j.rank = old.rank
      and j.id = old.id
      and (
          old.is_done
          or old.is_stray
          or (old.ready_at > $7::timestamptz and old.owner is null)
          or (
              old.ready_at > $7::timestamptz
              and old.retry > 0
              and old.ready_at - old.retry * interval '1 second' < old.first
          )
      )
    returning old.ordinal, old.ready_at <= $7::timestamptz as was_queued
)
select r.ordinal::integer, r.was_queued
from requeued as r
