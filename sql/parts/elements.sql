-- elements(order): the rows of a range of a list: its offset is $4, its limit $5
from pgdisque.job as r
where r.queue_id = $1::integer
  and (r.rank, r.id) > ($2::smallint, $3::bigint)
  and (r.rank, r.id) < ($7::smallint, $8::bigint)
  and {{queued(r, $6::timestamptz)}}
order by r.rank :order, r.id :order
limit $5::bigint
offset $4::bigint
