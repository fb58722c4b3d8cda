-- Reads a page of the dead jobs of a queue, the last that died first: JSCAN QUEUE STATE dead ORDER newest.
-- params: $1 died_at, $2 id (before that job), $3 limit, $4 with_body, $5 bytes (further rows are left off),
--         $6 headers, $7 error (null: all jobs match), $8 queue_id
-- returns: as scan_jobs
-- index: dead_died
select
    {{view(s, null::integer)}}
from (
    select p.*, sum(p.bytes) over (order by p.died_at desc, p.number desc rows unbounded preceding) as size
    from (
        select
            d.number, {{dead_view(d, $4)}}
        from (
            select r.*, r.id + 0 as number, coalesce({{matches(r, $6, $7)}}, false) as matches
            from pgdisque.dead_job as r
            where r.queue_id::bigint = $8::bigint
              and (r.died_at, r.id + 0) < ($1::timestamptz, $2::bigint)
            order by r.died_at desc, r.id + 0 desc
            limit $3::integer
        ) as d
    ) as p
) as s
where s.size - s.bytes < $5::bigint
order by s.died_at desc, s.number desc
