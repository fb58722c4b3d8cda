-- Adds jobs that are due at a time as members of the sorted set of a client library: ZADD, ZINCRBY. A member that
-- exists is replaced. A time in the past becomes the present.
-- params: $1 id, $2 due_at (with $9: the time since 1970 that is added), $3 body, $4 queue_id, $5 sorted_set,
--         $6 retry, $7 ttl (in seconds after the time), $8 rank, $9 the time is added to that of the former member,
--         $10 now
-- returns: added (false: a former member), queue_id, rank, id, ready_at, queued_since, in_flow (of a former member);
--          in no order
-- locks: the former members; skips locked rows
-- index: job_member, then by ctid; flow_job_pkey
with former as (
    delete from pgdisque.job as j
    where j.ctid = any (array(
        select m.ctid
        from unnest($3::bytea[]) as w (body)
        cross join lateral (
            select o.ctid
            from pgdisque.job as o
            where sha256(o.body) = sha256(w.body)
              and coalesce(o.sorted_set, '') > ''
              and coalesce(o.sorted_set, '') = $5::text
              and {{in_set(o, $10::timestamptz)}}
            limit 1
            for update skip locked
        ) as m
    ))
    returning
        j.queue_id, j.rank, j.id, j.ready_at, j.body, {{queued_since(j, $10::timestamptz)}} as queued_since,
        j.in_flow
),
noted as (
    {{note_outcome(former, 3)}}
),
wanted as (
    select
        w.id, w.body,
        greatest($10::timestamptz, case
            when $9::boolean then coalesce(f.ready_at, 'epoch') + (w.due_at - timestamptz 'epoch')
            else w.due_at
        end) as ready_at
    from unnest($1::bigint[], $2::timestamptz[], $3::bytea[]) as w (id, due_at, body)
    left join former as f on f.body = w.body
),
added as (
    insert into pgdisque.job (id, ready_at, expires_at, wake_at, queue_id, retry, delay, rank, body, sorted_set)
    select
        w.id, w.ready_at, w.ready_at + $7::integer * interval '1 second', w.ready_at, $4::integer, $6::integer,
        least(extract(epoch from w.ready_at - $10::timestamptz), 2147483647)::integer, $8::smallint, w.body, $5::text
    from wanted as w
    returning queue_id, rank, id, ready_at
)
select true as added, a.queue_id, a.rank, a.id, a.ready_at, null::timestamptz as queued_since,
    null::boolean as in_flow
from added as a
union all
select false, f.queue_id, f.rank, f.id, f.ready_at, f.queued_since, f.in_flow
from former as f
