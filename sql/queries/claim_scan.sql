-- Leases the next ready jobs of a queue after the scan position. A HOT update: no indexed column changes. A job
-- with retry 0 is leased for ever, which makes it at most once. A delayed job is skipped even if its time has
-- come: only wake_due makes it ready.
-- params: $1 queue_id, $2 rank, $3 id (the scan position, excluded), $4 limit, $5 now, $6 node, $7 from (the begin of
--         the leases: later than now, if the server keeps some jobs for the next requests)
-- returns: rank, id, ready_at, expires_at, retry, nacks, additional_deliveries, body, delay_mark, headers,
--          place (ctid of the leased row); in no order. An exhausted job is not leased: its ready_at is not later
--          than now. It must become a dead letter.
-- locks: the rows; skips locked rows
-- index: job_pkey, then by ctid. Only the subquery names the queue. A condition on it in the update as well
-- lets the planner search all rows of the queue, if the statistics are of an empty table.
update pgdisque.job as j
set {{lease(j, $7::timestamptz, $6::smallint, null)}}
where j.ctid = any (array(
    select r.ctid
    from pgdisque.job as r
    where r.queue_id = $1::integer
      and (r.rank, r.id) > ($2::smallint, $3::bigint)
      and {{ready(r, $5::timestamptz)}}
    order by r.rank, r.id
    limit $4::integer
    for update skip locked
))
returning j.rank, j.id, j.ready_at, j.expires_at, j.retry, j.nacks, j.additional_deliveries, j.body,
    {{delay_mark(j)}} as delay_mark, j.headers, j.ctid as place
