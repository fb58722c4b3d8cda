-- Leases ready jobs by their redelivery keys.
-- params: $1 queue_id, $2 rank, $3 id, $4 now, $5 node
-- returns: queue_id, rank, id, ready_at, expires_at, retry, nacks, additional_deliveries, body, delay_mark, headers;
--          in no order. An exhausted job is not leased: its ready_at is not later than now. It must become a
--          dead letter.
-- locks: the rows; skips locked rows
-- index: job_pkey, then by ctid
update pgdisque.job as j
set {{lease(j, $4::timestamptz, $5::smallint, null)}}
where j.ctid = any (array(
    select r.ctid
    from unnest($1::integer[], $2::smallint[], $3::bigint[]) as k (queue_id, rank, id)
    join pgdisque.job as r on r.queue_id = any (array[k.queue_id]) and r.rank = k.rank and r.id = k.id
    -- REPLACE may have delayed a job since it became a redelivery key.
    where {{ready(r, $4::timestamptz)}}
    for update of r skip locked
))
returning j.queue_id, j.rank, j.id, j.ready_at, j.expires_at, j.retry, j.nacks, j.additional_deliveries, j.body,
    {{delay_mark(j)}} as delay_mark, j.headers
