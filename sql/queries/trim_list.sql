-- Deletes the queued jobs of a list beyond one or two places: LTRIM. End 1 is the end with the first job, end 2
-- the other. The list may be shorter than a place. If that place is counted from the cut end, nothing stays. If it
-- is counted from the other end, everything stays.
-- params: $1 queue_id, $2 rank, $3 id (no ready job is at or before this key), $4 now, $5 place (arrays: the
--         first or last place that stays, from 0), $6 counted_from (an end), $7 cut (an end: the jobs between
--         it and the place are deleted)
-- returns: rank, id, ready_at, expires_at, retry, group_key, in_flow, is_first (it was before the jobs that stay);
--          in no order
-- locks: the rows; skips locked rows
-- index: job_pkey, backwards for places counted from the last job; then by ctid; flow_job_pkey
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
              and {{queued(r, $4::timestamptz)}}
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
              and {{queued(r, $4::timestamptz)}}
            order by r.rank desc, r.id desc
            limit case when b.counted_from = 2 then 1 else 0 end
            offset b.place
        )
    ) as k on true
    where k.id is not null
       or b.counted_from = b.cut
),
gone as (
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
              and {{queued(r, $4::timestamptz)}}
            for update skip locked
        ) as r
    ))
    returning
        j.rank, j.id, j.ready_at, j.expires_at, j.retry, j.group_key, j.in_flow,
        coalesce((select (j.rank, j.id) < (c.high_rank, c.high_id) from cut as c where c.cut = 1), false) as is_first
),
noted as (
    {{note_outcome(gone, 3)}}
)
select g.rank, g.id, g.ready_at, g.expires_at, g.retry, g.group_key, g.in_flow, g.is_first
from gone as g
