-- peek(order): the statements peek_first and peek_last
select
    s.size, s.queue_id, s.rank, s.id, s.ready_at, s.expires_at, s.delayed, s.owner, s.retry, s.delay, s.nacks,
    s.additional_deliveries, s.replicate, s.body
from (
    select p.*, sum(p.bytes) over (order by p.rank :order, p.id :order rows unbounded preceding) as size
    from (
        select
            j.queue_id, j.rank, j.id, j.ready_at, j.expires_at, j.wake_at is not distinct from j.ready_at as delayed,
            j.owner, j.retry, j.delay, j.nacks, j.additional_deliveries, j.replicate, j.body,
            256 + octet_length(j.body) as bytes
        from pgdisque.job as j
        where j.queue_id = $1::integer
          and (j.rank, j.id) > ($2::smallint, $3::bigint)
          and (j.rank, j.id) < ($6::smallint, $7::bigint)
          and {{is_due(j, $5::timestamptz)}}
          and {{has_attempts(j)}}
        order by j.rank :order, j.id :order
        limit $4::integer
    ) as p
) as s
where s.size - s.bytes < $8::bigint
order by s.rank :order, s.id :order
