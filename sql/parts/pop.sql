-- pop(order): the statements pop_first and pop_last
delete from pgdisque.job as j
where j.ctid = any (array(
    select r.ctid
    from pgdisque.job as r
    where r.queue_id = $1::integer
      and (r.rank, r.id) > ($2::smallint, $3::bigint)
      and {{queued(r, $5::timestamptz)}}
    order by r.rank :order, r.id :order
    limit $4::integer
    for update skip locked
))
returning {{popped(j)}}
