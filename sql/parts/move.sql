-- move(order): the statements move_first and move_last
with found as (
    select p.place, row_number() over () as ordinal
    from (
        select r.ctid as place
        from pgdisque.job as r
        where r.queue_id = $1::integer
          and (r.rank, r.id) > ($2::smallint, $3::bigint)
          and {{queued(r, $5::timestamptz)}}
        order by r.rank :order, r.id :order
        limit $4::integer
        for update skip locked
    ) as p
),
{{relocate($1::integer, $5::timestamptz, $6::integer[], $7::bigint[])}}
select
    g.ordinal::integer, g.rank, g.id, g.ready_at, g.to_wake_at, g.body, g.expires_at, g.retry, g.group_key,
    g.to_expires_at
from placed as g
