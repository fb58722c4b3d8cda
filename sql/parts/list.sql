-- list(order): the statements list_first and list_last
select
    s.size, s.rank, s.id, s.body
from (
    select p.*, sum(p.bytes) over (order by p.rank :order, p.id :order rows unbounded preceding) as size
    from (
        select
            r.rank, r.id, r.body,
            256 + octet_length(r.body) as bytes
        from pgdisque.job as r
        where r.queue_id = $1::integer
          and (r.rank, r.id) > ($2::smallint, $3::bigint)
          and (r.rank, r.id) < ($7::smallint, $8::bigint)
          and {{queued(r, $6::timestamptz)}}
        order by r.rank :order, r.id :order
        limit $5::bigint
        offset $4::bigint
    ) as p
) as s
where s.size - s.bytes < $9::bigint
order by s.rank :order, s.id :order
