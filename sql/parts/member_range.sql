-- member_range(wanted, order): members of a sorted set of jobs, in their order or backwards
from pgdisque.job as m
where :wanted
  and m.sorted_set = $1::text
  and m.wake_at between $2::timestamptz and $3::timestamptz
  and {{in_set(m, $8::timestamptz)}}
order by m.wake_at :order, m.id :order
offset $4::bigint
limit case
    when $6::bigint > 0 then greatest(0, (
        select count(*)
        from pgdisque.job as c
        where c.sorted_set = $1::text
          and c.wake_at between $2::timestamptz and $3::timestamptz
          and {{in_set(c, $8::timestamptz)}}
    ) - $4::bigint - $6::bigint)
    else $5::bigint
end
