-- list(order): the statements list_first and list_last
select
    s.size, s.rank, s.id, s.body
from (
    select p.*, sum(p.bytes) over (order by p.rank :order, p.id :order rows unbounded preceding) as size
    from (
        select
            r.rank, r.id, r.body,
            256 + octet_length(r.body) as bytes
        {{elements(:order)}}
    ) as p
) as s
where s.size - s.bytes < $9::bigint
order by s.rank :order, s.id :order
