-- Deletes members of a sorted set of a client library: ZREMRANGEBYSCORE, ZREMRANGEBYRANK, ZPOPMIN, DEL.
-- params: $1 to $8 as read_members
-- returns: dead, queue_id, rank, id, queued_since (null: dead), in_flow, at, body; in no order
-- locks: the rows; skips locked rows
-- index: job_in_set, dead_in_set, then by ctid; flow_job_pkey
with gone as (
    delete from pgdisque.job as j
    where j.ctid = any (array(
        (
            select m.ctid
            {{member_range(not $7::boolean, asc)}}
            for update skip locked
        )
    ))
    or j.ctid = any (array(
        (
            select m.ctid
            {{member_range($7::boolean, desc)}}
            for update skip locked
        )
    ))
    returning
        false as dead, j.queue_id, j.rank, j.id, {{queued_since(j, $8::timestamptz)}} as queued_since,
        j.wake_at as at, j.body, j.in_flow
),
noted as (
    {{note_outcome(gone, 3)}}
),
dead_letters as (
    delete from pgdisque.dead_job as d
    where d.ctid = any (array(
        (
            select m.ctid
            {{dead_range(not $7::boolean, asc)}}
            for update skip locked
        )
    ))
    or d.ctid = any (array(
        (
            select m.ctid
            {{dead_range($7::boolean, desc)}}
            for update skip locked
        )
    ))
    returning true, d.queue_id, d.rank, d.id, null::timestamptz, null::boolean, d.died_at, d.body
)
select g.dead, g.queue_id, g.rank, g.id, g.queued_since, g.in_flow, g.at, g.body
from gone as g
union all
select d.*
from dead_letters as d
