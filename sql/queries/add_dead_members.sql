-- Adds dead jobs as members of the sorted set of a client library: ZADD. A member that exists is replaced.
-- params: $1 id, $2 died_at, $3 body, $4 queue_id, $5 sorted_set, $6 retry, $7 ttl (in seconds after now), $8 rank,
--         $9 the time is added to that of the former member, $10 now
-- returns: added (false: a former member), queue_id, rank, id, ready_at, queued_since (null); in no order
-- locks: the former members; skips locked rows
-- index: dead_member, then by ctid
with former as (
    delete from pgdisque.dead_job as d
    where d.ctid = any (array(
        select m.ctid
        from unnest($3::bytea[]) as w (body)
        cross join lateral (
            select o.ctid
            from pgdisque.dead_job as o
            where sha256(o.body) = sha256(w.body)
              and coalesce(o.sorted_set, '') > ''
              and coalesce(o.sorted_set, '') = $5::text
            limit 1
            for update skip locked
        ) as m
    ))
    returning d.queue_id, d.rank, d.id, d.died_at, d.body
),
added as (
    insert into pgdisque.dead_job
        (id, died_at, expires_at, queue_id, retry, delay, deliveries, nacks, additional_deliveries, attempts, rank,
         replicate, body, sorted_set)
    select
        w.id,
        case
            when $9::boolean then coalesce(f.died_at, 'epoch') + (w.died_at - timestamptz 'epoch')
            else w.died_at
        end,
        $10::timestamptz + $7::integer * interval '1 second', $4::integer, $6::integer, 0, 1, 0, 0, 1, $8::smallint,
        1, w.body, $5::text
    from unnest($1::bigint[], $2::timestamptz[], $3::bytea[]) as w (id, died_at, body)
    left join former as f on f.body = w.body
    returning queue_id, rank, id, died_at
)
select true as added, a.queue_id, a.rank, a.id, a.died_at as ready_at, null::timestamptz as queued_since
from added as a
union all
select false, f.queue_id, f.rank, f.id, f.died_at, null
from former as f
