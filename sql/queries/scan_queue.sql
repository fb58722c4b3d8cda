-- Reads a page of the jobs of a queue in key order: JSCAN QUEUE.
-- params: $1 queue_id, $2 rank, $3 id (after that key), $4 limit, $5 now, $6 with_body, $7 bytes (further rows
--         are left off), $8 headers, $9 error (null: all jobs match)
-- returns: as scan_jobs
-- index: job_pkey
select
    {{view(s, null::integer)}}
from (
    select p.*, sum(p.bytes) over (order by p.rank, p.id rows unbounded preceding) as size
    from (
        select
            {{job_view(j, $6)}}
        from (
            select r.*, coalesce({{matches(r, $8, $9)}}, false) as matches
            from pgdisque.job as r
            where r.queue_id = $1::integer
              and (r.rank, r.id) > ($2::smallint, $3::bigint)
              and r.expires_at > $5::timestamptz
            order by r.rank, r.id
            limit $4::integer
        ) as j
    ) as p
) as s
where s.size - s.bytes < $7::bigint
order by s.rank, s.id
