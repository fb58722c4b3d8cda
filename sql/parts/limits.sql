-- limits(queue_id): reads the limits of a queue, and locks its tokens if it has a rate
--
-- setting has one row. bucket has none if there is no rate, or if another session has locked the tokens.
setting as materialized (
    select
        coalesce(max(case when s.name = 'max-active' then convert_from(s.value, 'UTF8') end)::integer, 0) as most,
        coalesce(max(case when s.name = 'rate' then convert_from(s.value, 'UTF8') end)::integer, 0) as rate
    from pgdisque.queue_setting as s
    where s.queue_id = :queue_id
      and s.name in ('max-active', 'rate')
),
bucket as materialized (
    select
        least(
            greatest(1, l.rate / 10.0),
            b.tokens + l.rate * greatest(0, extract(epoch from clock_timestamp() - b.settled_at))
        )::double precision as tokens,
        l.rate
    from setting as l
    join pgdisque.bucket as b on b.queue_id = :queue_id
    where l.rate > 0
    for update of b skip locked
)
