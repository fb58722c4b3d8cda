-- Deletes all queued jobs of some queues, or sets when they expire: DEL, EXPIRE and PERSIST in a client
-- transaction, whose earlier statements may have added the jobs.
-- params: $1 queue_id, $2 now, $3 for_ever (a job that expires later has no end), $4 least, $5 most (only
--         queues whose latest expiry is between them), $6 removes; if not: $7 before (only jobs that expire by
--         then), $8 expires_at, $9 wake_at (null: none)
-- returns: queue_id, rank, id, ready_at, expires_at, retry, group_key, in_flow (of deleted jobs); in no order
-- locks: the rows; skips locked rows
-- index: job_pkey, then by ctid; flow_job_pkey
with life as materialized (
    select
        k.queue_id,
        case
            when (
                select true
                from pgdisque.job as r
                where r.queue_id = k.queue_id
                  and {{queued(r, $2::timestamptz)}}
                  and r.expires_at > $3::timestamptz
                limit 1
            ) then 'infinity'
            else (
                select max(r.expires_at)
                from pgdisque.job as r
                where r.queue_id = k.queue_id
                  and {{queued(r, $2::timestamptz)}}
            )
        end as until
    from unnest($1::integer[]) as k (queue_id)
),
target as materialized (
    select r.ctid
    from pgdisque.job as r
    where r.queue_id = any (array(
        select l.queue_id
        from life as l
        where l.until between $4::timestamptz and $5::timestamptz
    ))
      and {{queued(r, $2::timestamptz)}}
      and ($6::boolean or r.expires_at <= $7::timestamptz)
    order by r.queue_id, r.rank, r.id
    for update skip locked
),
gone as (
    delete from pgdisque.job as j
    where j.ctid = any (array(select t.ctid from target as t where $6::boolean))
    returning j.queue_id, j.rank, j.id, j.ready_at, j.expires_at, j.retry, j.group_key, j.in_flow
),
noted as (
    {{note_outcome(gone, 3)}}
),
dated as (
    update pgdisque.job as j
    set expires_at = $8::timestamptz,
        wake_at = $9::timestamptz,
        own_expires_at = coalesce(j.own_expires_at, j.expires_at)
    where j.ctid = any (array(select t.ctid from target as t where not $6::boolean))
    returning j.queue_id, j.rank, j.id, j.ready_at, j.expires_at, j.retry, j.group_key
)
select g.queue_id, g.rank, g.id, g.ready_at, g.expires_at, g.retry, g.group_key, g.in_flow
from gone as g
union all
select d.queue_id, d.rank, d.id, d.ready_at, d.expires_at, d.retry, d.group_key, null::boolean
from dated as d
