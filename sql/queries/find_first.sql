-- Finds queued jobs of a queue with this body, counted from the first job: LPOS.
-- params: $1 queue_id, $2 rank, $3 id (no ready job is at or before this key), $4 number of jobs to compare
--         (null: all), $5 now, $6 body (an array of one), $7 number of matches to skip, $8 number of matches to
--         return (null: all), $9 whether the total is wanted
-- returns: place (from 0), total (number of queued jobs, or null); in the order of the search
-- index: job_pkey
select
    p.place - 1 as place,
    case when $9::boolean then (
        select count(*)
        from pgdisque.job as r
        where r.queue_id = $1::integer
          and (r.rank, r.id) > ($2::smallint, $3::bigint)
          and {{queued(r, $5::timestamptz)}}
    ) end as total
from (
    select
        r.rank, r.id, r.body = any ($6::bytea[]) as is_found,
        row_number() over (order by r.rank, r.id) as place
    from pgdisque.job as r
    where r.queue_id = $1::integer
      and (r.rank, r.id) > ($2::smallint, $3::bigint)
      and {{queued(r, $5::timestamptz)}}
    order by r.rank, r.id
    limit $4::bigint
) as p
where p.is_found
order by p.rank, p.id
limit $8::bigint
offset $7::bigint
