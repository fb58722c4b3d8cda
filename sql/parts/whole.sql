-- whole(order): the statements whole_first and whole_last
--
-- It reads the rows twice, which is cheaper than a result with the size and the key of each row.
select p.body
from (
    select r.rank, r.id, r.body
    {{elements(:order)}}
) as p
where (
    select sum(256 + octet_length(m.body))
    from (
        select r.body
        {{elements(:order)}}
    ) as m
) < $9::bigint
order by p.rank :order, p.id :order
