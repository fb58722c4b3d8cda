-- Deletes jobs of the first queue that has ready jobs, for list commands in a client transaction. Earlier
-- statements of the transaction may have added the jobs. Exhausted jobs are skipped.
-- params: $1 queue_id, $2 rank, $3 id (for each queue the key after which the scan begins), $4 side (0: the
--         first jobs, 1: the last), $5 limit, $6 now
-- returns: rank, id, ready_at, expires_at, retry, nacks, additional_deliveries, body, deliveries,
--          attempts, backoff, deadqueue, error, unique_key, unique_until, group_key,
--          headers, progress, errors, delay, replicate, own_expires_at, unique_start, in_flow,
--          ordinal (of the queue); in no order
-- locks: the rows, and the first row of that queue; skips locked rows
-- index: job_pkey, then by ctid
with list as materialized (
    select l.ordinal, l.queue_id, l.rank, l.id, l.side = 1 as is_last
    from unnest($1::integer[], $2::smallint[], $3::bigint[], $4::smallint[]) with ordinality
        as l (queue_id, rank, id, side, ordinal)
    -- In the order of the parameters. Reads only as many queues as needed.
    cross join lateral (
        select
        from pgdisque.job as r
        where r.queue_id = l.queue_id
          and (r.rank, r.id) > (l.rank, l.id)
          and {{queued(r, $6::timestamptz)}}
        order by r.rank, r.id
        limit 1
        for update skip locked
    ) as n
    limit 1
),
taken as materialized (
    select l.ordinal, n.place
    from list as l
    cross join lateral (
        select r.ctid as place
        from pgdisque.job as r
        where not l.is_last
          and r.queue_id = l.queue_id
          and (r.rank, r.id) > (l.rank, l.id)
          and {{queued(r, $6::timestamptz)}}
        order by r.rank, r.id
        limit $5::integer
        for update skip locked
    ) as n
    union all
    select l.ordinal, n.place
    from list as l
    cross join lateral (
        select r.ctid as place
        from pgdisque.job as r
        where l.is_last
          and r.queue_id = l.queue_id
          and (r.rank, r.id) > (l.rank, l.id)
          and {{queued(r, $6::timestamptz)}}
        order by r.rank desc, r.id desc
        limit $5::integer
        for update skip locked
    ) as n
)
delete from pgdisque.job as j
using taken as t
where j.ctid = t.place
returning {{popped(j)}}, t.ordinal::integer
