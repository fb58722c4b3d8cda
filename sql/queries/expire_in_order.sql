-- Ends expired jobs with the default time to live. They expire in key order, so a range of ids holds them. They are
-- deleted, or become dead letters.
-- params: $1 queue_id, $2 rank, $3 from_id (excluded), $4 to_id (included), $5 limit per queue, $6 now
-- returns: queue_id, rank, id, queued_since (-infinity: its attempts were used up), expires_at, retry,
--          group_key, is_dead, in_flow
-- locks: the rows; skips locked rows
-- index: job_pkey, then by ctid; flow_job_pkey
with gone as (
    delete from pgdisque.job as j
    where j.ctid = any (array(
        select d.ctid
        from unnest($1::integer[], $2::smallint[], $3::bigint[]) as k (queue_id, rank, from_id)
        cross join lateral (
            select o.ctid
            from pgdisque.job as o
            where o.queue_id = k.queue_id
              and o.rank = k.rank
              and o.id > k.from_id
              and o.id <= $4::bigint
              and o.wake_at is null
              -- Elements of lists have no wake_at either, but live longer.
              and o.expires_at <= $6::timestamptz
            order by o.id
            limit $5::integer
            for update skip locked
        ) as d
    ))
    returning j.*, {{dies_expired(j)}} as is_dead
),
{{end_expired($6::timestamptz)}}
