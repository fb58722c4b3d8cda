-- limits(queue_id): reads the limits of a queue, and locks its tokens if it has a rate
--
-- setting has one row. bucket has none if there is no rate, or if another session has locked the tokens. rate is in
-- jobs per second. burst is the most tokens: rate-burst, or those of a tenth of a second.
setting as materialized (
    select
        coalesce(v.most, 0) as most, coalesce(v.rate, 0) as rate, coalesce(v.burst, greatest(1, v.rate / 10)) as burst,
        v.is_fenced
    from (
        select
            max(case when s.name = 'max-active' then convert_from(s.value, 'UTF8') end)::integer as most,
            {{rate('rate', 'rate-period')}} as rate,
            nullif(max(case when s.name = 'rate-burst' then convert_from(s.value, 'UTF8') end)::integer, 0) as burst,
            {{needs_fence(s)}} as is_fenced
        from pgdisque.queue_setting as s
        where s.queue_id = :queue_id
          and s.name in ('max-active', 'rate', 'rate-burst', 'rate-period')
    ) as v
),
-- A row that another session has changed since the snapshot has another place. It counts as locked.
bucket_at as materialized (
    select coalesce(
        (
            select b.ctid
            from pgdisque.bucket as b
            where b.ctid >= {{tail('pgdisque.bucket', 3, 8)}}
              and b.queue_id + 0 = :queue_id
        ),
        (select b.ctid from pgdisque.bucket as b where b.queue_id = :queue_id)
    ) as place
    from setting as l
    where l.rate > 0
),
locked_bucket as materialized (
    select b.ctid as place, b.tokens, b.settled_at
    from bucket_at as a
    join pgdisque.bucket as b on b.ctid = a.place
    for update of b skip locked
),
bucket as materialized (
    select
        b.place,
        least(
            l.burst,
            b.tokens + case when {{is_fenced(b)}} then {{fence_tokens()}} else 0 end
                + l.rate * greatest(0, extract(epoch from
                    clock_timestamp() - b.settled_at
                    + case when {{is_fenced(b)}} then {{fence_time()}} else interval '0' end))
        )::double precision as tokens,
        l.rate, l.burst, l.is_fenced
    from setting as l
    cross join bucket_at as a
    join locked_bucket as b on b.place = a.place
)
