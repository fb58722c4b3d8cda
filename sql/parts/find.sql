-- find(order): the statements find_first and find_last
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
        row_number() over (order by r.rank :order, r.id :order) as place
    from pgdisque.job as r
    where r.queue_id = $1::integer
      and (r.rank, r.id) > ($2::smallint, $3::bigint)
      and {{queued(r, $5::timestamptz)}}
    order by r.rank :order, r.id :order
    limit $4::bigint
) as p
where p.is_found
order by p.rank :order, p.id :order
limit $8::bigint
offset $7::bigint
