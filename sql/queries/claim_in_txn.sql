-- Leases the first ready jobs of some queues, in the order in which the queues are named. For a client
-- transaction, whose earlier statements may have added the jobs. A HOT update: no indexed column changes.
-- params: $1 queue_id, $2 rank, $3 id (for each queue the key after which the scan begins), $4 limit, $5 now,
--         $6 node
-- returns: ordinal (of the queue), queue_id, rank, id, ready_at, expires_at, retry, nacks,
--          additional_deliveries, body, delay_mark, headers; in no order. Exhausted jobs are skipped.
-- locks: the rows; skips locked rows
-- index: job_pkey, then by ctid
with taken as materialized (
    select k.ordinal, n.queue_id, n.rank, n.id, n.place
    from unnest($1::integer[], $2::smallint[], $3::bigint[]) with ordinality as k (queue_id, rank, id, ordinal)
    cross join lateral (
        select r.queue_id, r.rank, r.id, r.ctid as place
        from pgdisque.job as r
        where r.queue_id = k.queue_id
          and (r.rank, r.id) > (k.rank, k.id)
          and {{queued(r, $5::timestamptz)}}
        order by r.rank, r.id
        limit $4::integer
        for update skip locked
    ) as n
    order by k.ordinal, n.rank, n.id
    limit $4::integer
)
update pgdisque.job as j
set {{lease(j, $5::timestamptz, $6::smallint, null)}}
from taken as t
where j.ctid = t.place
returning
    t.ordinal::integer, j.queue_id, j.rank, j.id, j.ready_at, j.expires_at, j.retry, j.nacks,
    j.additional_deliveries, j.body, {{delay_mark(j)}} as delay_mark, j.headers
