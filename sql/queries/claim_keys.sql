-- Leases ready jobs by key: those that came back behind the frontiers of their queues.
-- params: $1 queue_id, $2 rank, $3 id, $4 now, $5 node
-- returns: queue_id, rank, id, ready_at, expires_at, retry, nacks, extras, body; in no order
-- locks: the rows, skipping what others have locked
-- index: job_pkey, then by ctid
update pgdisque.job as j
set ready_at = case
        when j.retry = 0 then 'infinity'
        else $4::timestamptz + j.retry * interval '1 second'
    end,
    deliveries = j.deliveries + 1,
    extras = j.extras + case when j.owner is null then 0 else 1 end,
    owner = $5::smallint
where j.ctid = any (array(
    select r.ctid
    from unnest($1::integer[], $2::smallint[], $3::bigint[]) as k (queue_id, rank, id)
    join pgdisque.job as r on r.queue_id = any (array[k.queue_id]) and r.rank = k.rank and r.id = k.id
    where r.ready_at <= $4::timestamptz
      and r.expires_at > $4::timestamptz
    for update of r skip locked
))
returning j.queue_id, j.rank, j.id, j.ready_at, j.expires_at, j.retry, j.nacks, j.extras, j.body
