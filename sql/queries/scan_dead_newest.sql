-- Reads a page of all dead jobs, the last that died first: JSCAN STATE dead ORDER newest.
-- params: $1 died_at, $2 id (before that job), $3 limit, $4 with_body, $5 bytes (further rows are left off),
--         $6 headers, $7 error (null: all jobs match)
-- returns: as scan_jobs
-- index: dead_newest
select
    {{view(s, null::integer)}}
from (
    select p.*, sum(p.bytes) over (order by p.moment desc, p.number desc rows unbounded preceding) as size
    from (
        select
            d.moment, d.number, {{dead_view(d, $4)}}
        from (
            select
                r.*, (r.died_at at time zone 'UTC') as moment, r.id + 0 as number,
                coalesce({{matches(r, $6, $7)}}, false) as matches
            from pgdisque.dead_job as r
            where ((r.died_at at time zone 'UTC'), r.id + 0) < (($1::timestamptz at time zone 'UTC'), $2::bigint)
            order by (r.died_at at time zone 'UTC') desc, r.id + 0 desc
            limit $3::integer
        ) as d
    ) as p
) as s
where s.size - s.bytes < $5::bigint
order by s.moment desc, s.number desc
