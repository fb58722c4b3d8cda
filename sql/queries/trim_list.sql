-- Removes the queued jobs of one queue that lie beyond one of its places, or two: LTRIM. 1 is the end where the first
-- job is, 2 the other one. Of an end that has no such place nothing stays when it is counted from there, and all
-- when it is counted from the other one.
-- params: $1 queue_id, $2 rank, $3 id (nothing ready lies at or before), $4 now,
--         $5 place (arrays: what stays begins, or ends, there; from 0 on), $6 counted_from (an end),
--         $7 cut (an end: what lies between it and the place goes)
-- returns: rank, id, ready_at, expires_at, retry, group_key, is_first (lay before what stays); in no order
-- locks: the rows, skipping what others have locked
-- index: job_pkey, backwards for what is counted from the last one; then by ctid
with cut as materialized (
    select
        b.cut,
        case when b.cut = 2 then coalesce(k.rank, $2::smallint) else $2::smallint end as low_rank,
        case when b.cut = 2 then coalesce(k.id, $3::bigint) else $3::bigint end as low_id,
        case when b.cut = 1 then coalesce(k.rank, 32767) else 32767 end as high_rank,
        case when b.cut = 1 then coalesce(k.id, 9223372036854775807) else 9223372036854775807 end as high_id
    from unnest($5::bigint[], $6::smallint[], $7::smallint[]) as b (place, counted_from, cut)
    left join lateral (
        (
            select r.rank, r.id
            from pgdisque.job as r
            where r.queue_id = $1::integer
              and (r.rank, r.id) > ($2::smallint, $3::bigint)
              and r.ready_at <= $4::timestamptz
              and r.expires_at > $4::timestamptz
              and r.wake_at is distinct from r.ready_at
              and (r.deliveries < r.attempts) is not false
            order by r.rank, r.id
            limit case when b.counted_from = 1 then 1 else 0 end
            offset b.place
        )
        union all
        (
            select r.rank, r.id
            from pgdisque.job as r
            where r.queue_id = $1::integer
              and (r.rank, r.id) > ($2::smallint, $3::bigint)
              and r.ready_at <= $4::timestamptz
              and r.expires_at > $4::timestamptz
              and r.wake_at is distinct from r.ready_at
              and (r.deliveries < r.attempts) is not false
            order by r.rank desc, r.id desc
            limit case when b.counted_from = 2 then 1 else 0 end
            offset b.place
        )
    ) as k on true
    where k.id is not null
       or b.counted_from = b.cut
)
delete from pgdisque.job as j
where j.ctid = any (array(
    select r.ctid
    from cut as c
    cross join lateral (
        select r.ctid
        from pgdisque.job as r
        where r.queue_id = $1::integer
          and (r.rank, r.id) > (c.low_rank, c.low_id)
          and (r.rank, r.id) < (c.high_rank, c.high_id)
          and r.ready_at <= $4::timestamptz
          and r.expires_at > $4::timestamptz
          and r.wake_at is distinct from r.ready_at
          and (r.deliveries < r.attempts) is not false
        for update skip locked
    ) as r
))
returning
    j.rank, j.id, j.ready_at, j.expires_at, j.retry, j.group_key,
    coalesce((select (j.rank, j.id) < (c.high_rank, c.high_id) from cut as c where c.cut = 1), false) as is_first
