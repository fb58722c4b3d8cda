-- Ends expired jobs with the default time to live. They expire in key order, so a range of ids holds them. They are
-- deleted, or become dead letters. Jobs that another session has locked are left.
-- params: $1 queue_id, $2 rank, $3 from_id (excluded), $4 to_id (included), $5 limit per queue, $6 now
-- returns: queue_id, rank, id, queued_since (-infinity: its attempts were used up; null: the job is left), expires_at,
--          retry, group_key, is_dead, in_flow
-- locks: the rows; skips locked rows
-- index: job_pkey, then by ctid; flow_job_pkey
with due as materialized (
    select o.place, k.queue_id, k.rank, o.id
    from unnest($1::integer[], $2::smallint[], $3::bigint[], $4::bigint[]) as k (queue_id, rank, from_id, to_id)
    cross join lateral (
        select j.ctid as place, j.id
        from pgdisque.job as j
        where j.queue_id = k.queue_id
          and j.rank = k.rank
          and j.id > k.from_id
          and j.id <= k.to_id
          and j.wake_at is null
          -- Elements of lists have no wake_at either, but live longer.
          and j.expires_at <= $6::timestamptz
        order by j.id
        limit $5::integer
    ) as o
),
tried as materialized (
    select d.place, d.queue_id, d.rank, d.id, coalesce({{lock_job(d.place)}}, false) as is_locked
    from due as d
),
gone as (
    delete from pgdisque.job as j
    where j.ctid = any (array(select t.place from tried as t where t.is_locked))
    returning j.*, {{dies_expired(j)}} as is_dead
),
{{end_expired($6::timestamptz)}}
union all
select t.queue_id, t.rank, t.id, null, null, null, null, null, null
from tried as t
where not t.is_locked
