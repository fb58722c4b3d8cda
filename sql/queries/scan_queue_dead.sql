-- Reads a page of the dead jobs of a queue in key order: JSCAN QUEUE STATE dead.
-- params: $1 queue_id, $2 rank, $3 id (after that key), $4 limit, $5 with_body, $6 bytes (further rows are left
--         off), $7 headers, $8 error (null: all jobs match)
-- returns: as scan_jobs
-- index: dead_pkey
select
    {{view(s, null::integer)}}
from (
    select p.*, sum(p.bytes) over (order by p.rank, p.id rows unbounded preceding) as size
    from (
        select
            {{dead_view(d, $5)}}
        from (
            select r.*, coalesce({{matches(r, $7, $8)}}, false) as matches
            from pgdisque.dead_job as r
            where r.queue_id = $1::integer
              and (r.rank, r.id) > ($2::smallint, $3::bigint)
            order by r.rank, r.id
            limit $4::integer
        ) as d
    ) as p
) as s
where s.size - s.bytes < $6::bigint
order by s.rank, s.id
