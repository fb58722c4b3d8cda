-- Reads queued jobs of a queue from the first job on, as elements of a list: LRANGE, LINDEX.
-- params: $1 queue_id, $2 rank, $3 id (no ready job is at or before this key), $4 offset, $5 limit, $6 now,
--         $7 rank, $8 id (before that key), $9 bytes (further rows are left off)
-- returns: size (of all rows so far), rank, id, body; in key order
-- index: job_pkey
select
    s.size, s.rank, s.id, s.body
from (
    select p.*, sum(p.bytes) over (order by p.rank, p.id rows unbounded preceding) as size
    from (
        select
            r.rank, r.id, r.body,
            256 + octet_length(r.body) as bytes
        from pgdisque.job as r
        where r.queue_id = $1::integer
          and (r.rank, r.id) > ($2::smallint, $3::bigint)
          and (r.rank, r.id) < ($7::smallint, $8::bigint)
          and {{queued(r, $6::timestamptz)}}
        order by r.rank, r.id
        limit $5::bigint
        offset $4::bigint
    ) as p
) as s
where s.size - s.bytes < $9::bigint
order by s.rank, s.id
