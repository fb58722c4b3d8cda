-- remove(order): the statements remove_first and remove_last
with gone as (
    delete from pgdisque.job as j
    where j.ctid = any (array(
        select r.ctid
        from pgdisque.job as r
        where r.queue_id = $1::integer
          and (r.rank, r.id) > ($2::smallint, $3::bigint)
          and {{queued(r, $5::timestamptz)}}
          and r.body = any ($6::bytea[])
        order by r.rank :order, r.id :order
        limit $4::integer
        for update skip locked
    ))
    returning j.rank, j.id, j.ready_at, j.expires_at, j.retry, j.group_key, j.in_flow
),
noted as (
    {{note_outcome(gone, 3)}}
)
select g.rank, g.id, g.ready_at, g.expires_at, g.retry, g.group_key, g.in_flow
from gone as g
