-- Deletes members of a sorted set of a client library by their bodies: ZREM.
-- params: $1 sorted_set, $2 body, $3 now
-- returns: dead, queue_id, rank, id, queued_since (null: dead), in_flow; in no order
-- locks: the rows; skips locked rows
-- index: job_member, dead_member, then by ctid; flow_job_pkey
with gone as (
    delete from pgdisque.job as j
    where j.ctid = any (array(
        select m.ctid
        from unnest($2::bytea[]) as w (body)
        cross join lateral (
            select o.ctid
            from pgdisque.job as o
            where sha256(o.body) = sha256(w.body)
              and coalesce(o.sorted_set, '') > ''
              and coalesce(o.sorted_set, '') = $1::text
              and {{in_set(o, $3::timestamptz)}}
            for update skip locked
        ) as m
    ))
    returning
        false as dead, j.queue_id, j.rank, j.id, {{queued_since(j, $3::timestamptz)}} as queued_since, j.in_flow
),
noted as (
    {{note_outcome(gone, 3)}}
),
dead_letters as (
    delete from pgdisque.dead_job as d
    where d.ctid = any (array(
        select m.ctid
        from unnest($2::bytea[]) as w (body)
        cross join lateral (
            select o.ctid
            from pgdisque.dead_job as o
            where sha256(o.body) = sha256(w.body)
              and coalesce(o.sorted_set, '') > ''
              and coalesce(o.sorted_set, '') = $1::text
            for update skip locked
        ) as m
    ))
    returning true, d.queue_id, d.rank, d.id, null::timestamptz, null::boolean
)
select g.dead, g.queue_id, g.rank, g.id, g.queued_since, g.in_flow
from gone as g
union all
select d.*
from dead_letters as d
