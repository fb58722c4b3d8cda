-- dead_range(wanted, order): members of a sorted set of dead jobs, in their order or backwards
from pgdisque.dead_job as m
where :wanted
  and m.sorted_set = $1::text
  and m.died_at between $2::timestamptz and $3::timestamptz
order by m.died_at :order, m.id :order
offset $4::bigint
limit case
    when $6::bigint > 0 then greatest(0, (
        select count(*)
        from pgdisque.dead_job as c
        where c.sorted_set = $1::text
          and c.died_at between $2::timestamptz and $3::timestamptz
    ) - $4::bigint - $6::bigint)
    else $5::bigint
end
