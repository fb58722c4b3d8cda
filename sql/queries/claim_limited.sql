-- Leases ready jobs of a queue with limits: redelivered jobs by key, and the next jobs after the scan position.
--
-- With max-active, each running job has a slot. A slot is free if its last job is gone or no longer holds the
-- slot. A job whose lease has ended keeps its slot and is leased in it again. If the limit was lowered, more
-- jobs may run than it allows. Then only a session that has locked all slots beyond the limit may lease jobs. A
-- slot whose turn differs was changed by another session just now, and is skipped.
--
-- With rate, each job takes a token. The bucket holds rate-burst tokens, or those of a tenth of a second, and at least
-- 1.
-- Exhausted jobs are skipped.
-- params: $1 queue_id, $2 rank, $3 id (the scan position, excluded), $4 limit, $5 now, $6 node, $7 queue_id,
--         $8 rank, $9 id (redelivery keys)
-- returns: rank, id, ready_at, expires_at, retry, nacks, additional_deliveries, body, delay_mark,
--          headers,
--          is_scanned (it is after the scan position),
--          room (number of jobs after the scan position that could be leased),
--          soon (another session is changing slots, or has the tokens),
--          wait_ms (time until there are tokens; null: not waiting for tokens); if no job was leased,
--          one row in which the columns before room are null
-- locks: the tokens, slots and jobs; skips locked rows
-- index: queue_setting_pkey, bucket_pkey, slot_pkey, or the last pages of these two; job_pkey; then by ctid
with {{limits($1::integer)}},
-- Slots that change often are in the last pages. The others are searched by their numbers.
start as materialized (
    select case when l.most between 1 and 200 then {{tail('pgdisque.slot', 4 + l.most / 10, 30)}} end as place
    from setting as l
),
newest as materialized (
    select s.ctid as place, s.queue_id, s.n, s.turn, s.rank, s.id
    from pgdisque.slot as s
    where s.ctid >= (select t.place from start as t)
      and s.queue_id + 0 = $1::integer
),
placed as materialized (
    select n.*
    from newest as n
    union all
    select s.place, s.queue_id, s.n, s.turn, s.rank, s.id
    from setting as l
    cross join generate_series(1, l.most) as k (n)
    -- The limit lets the planner only search the index, one slot at a time.
    cross join lateral (
        select s.ctid as place, s.queue_id, s.n, s.turn, s.rank, s.id
        from pgdisque.slot as s
        where s.queue_id = $1::integer
          and s.n = k.n
        limit 1
    ) as s
    where (select t.place from start as t) is not null
      and k.n <> all (array(select n.n from newest as n))
    union all
    select s.ctid, s.queue_id, s.n, s.turn, s.rank, s.id
    from pgdisque.slot as s
    where s.queue_id = $1::integer
      and s.n > (select case when t.place is null then 0 else l.most end from start as t cross join setting as l)
      and s.n <> all (array(select n.n from newest as n))
),
slots as materialized (
    select
        s.place, s.queue_id, s.n, s.turn, s.rank, s.id,
        l.most = 0 or s.n <= l.most as is_open,
        j.id is not null as is_held,
        coalesce(j.ready_at > $5::timestamptz, false) as is_running
    from setting as l
    cross join placed as s
    left join pgdisque.job as j
        on j.queue_id = any (array[s.queue_id]) and j.rank = s.rank and j.id = s.id
        and j.slot = s.n and j.expires_at > $5::timestamptz
),
locked_beyond as materialized (
    select o.place
    from slots as o
    join pgdisque.slot as g on g.ctid = o.place and g.turn = o.turn
    where o.is_running
      and not o.is_open
    for update of g skip locked
),
room as materialized (
    select
        least(
            case
                when r.beyond = 0 then $4::integer
                when r.beyond > (select count(*) from locked_beyond) then 0
                else least($4::integer, greatest(0, r.most - r.running))
            end,
            case when r.rate > 0 then coalesce((select floor(b.tokens) from bucket as b), 0)::integer end
        ) as jobs,
        r.beyond > (select count(*) from locked_beyond) or (r.rate > 0 and not exists (select from bucket)) as is_shut,
        r.most > 0 as has_slots
    from (
        select
            count(*) filter (where s.is_running) as running,
            count(*) filter (where s.is_running and not s.is_open) as beyond,
            (select l.most from setting as l) as most,
            (select l.rate from setting as l) as rate
        from slots as s
    ) as r
),
own as materialized (
    select r.ctid as place, s.n
    from slots as s
    join pgdisque.job as r on r.queue_id = any (array[s.queue_id]) and r.rank = s.rank and r.id = s.id
    where s.is_open
      and s.is_held
      and not s.is_running
      and r.slot = s.n
      and {{is_due(r, $5::timestamptz)}}
      and {{has_attempts(r)}}
    order by s.rank, s.id
    limit (select m.jobs from room as m)
    for update of r skip locked
),
free as materialized (
    select s.n, s.place
    from slots as s
    join pgdisque.slot as f on f.ctid = s.place and f.turn = s.turn
    where s.is_open
      and not s.is_held
      and (select m.has_slots from room as m)
    -- The slots that changed least recently, so that all slots stay in the last pages.
    order by s.place
    limit (select m.jobs from room as m) - (select count(*) from own)
    for update of f skip locked
),
places as materialized (
    select
        case
            when m.has_slots then (select count(*) from free)
            else m.jobs - (select count(*) from own)
        end as jobs
    from room as m
),
returned as materialized (
    select r.ctid as place, r.rank, r.id
    from unnest($7::integer[], $8::smallint[], $9::bigint[]) as k (queue_id, rank, id)
    join pgdisque.job as r on r.queue_id = any (array[k.queue_id]) and r.rank = k.rank and r.id = k.id
    where {{queued(r, $5::timestamptz)}}
      and coalesce(r.slot <> all (array(
          select s.n from slots as s where s.is_open and s.is_held and not s.is_running)), true)
    limit (select p.jobs from places as p)
    for update of r skip locked
),
scanned as materialized (
    select r.ctid as place, r.rank, r.id
    from pgdisque.job as r
    where r.queue_id = $1::integer
      and (r.rank, r.id) > ($2::smallint, $3::bigint)
      and {{queued(r, $5::timestamptz)}}
      and coalesce(r.slot <> all (array(
          select s.n from slots as s where s.is_open and s.is_held and not s.is_running)), true)
      and (r.rank, r.id) <> all (select k.rank, k.id from returned as k)
    order by r.rank, r.id
    limit (select p.jobs from places as p) - (select count(*) from returned)
    for update skip locked
),
picked as materialized (
    select o.place, o.n, null::tid as slot_place, true as is_own, false as is_scanned
    from own as o
    union all
    select
        c.place, (array(select f.n from free as f))[c.ordinal], (array(select f.place from free as f))[c.ordinal],
        false, c.is_scanned
    from (
        select b.place, b.is_scanned, row_number() over (order by b.rank, b.id) as ordinal
        from (
            select k.place, k.rank, k.id, false as is_scanned
            from returned as k
            union all
            select w.place, w.rank, w.id, true
            from scanned as w
        ) as b
    ) as c
),
taken as (
    update pgdisque.job as j
    set {{lease(j, $5::timestamptz, $6::smallint, null)}},
        slot = p.n
    from picked as p
    where j.ctid = p.place
    returning j.rank, j.id, j.ready_at, j.expires_at, j.retry, j.nacks, j.additional_deliveries, j.body,
        {{delay_mark(j)}} as delay_mark, j.headers, p.slot_place, p.is_own, p.is_scanned
),
filled as (
    update pgdisque.slot as s
    set rank = t.rank, id = t.id, turn = s.turn + 1
    from taken as t
    where s.ctid = t.slot_place
      and not t.is_own
),
passed as (
    update pgdisque.slot as s
    set turn = s.turn + 1
    from locked_beyond as g
    where s.ctid = g.place
      and exists (select from picked)
),
spent as (
    update pgdisque.bucket as b
    set {{spend(u, (select count(*) from picked))}}
    from bucket as u
    where b.ctid = u.place
      and exists (select from picked)
)
select
    t.rank, t.id, t.ready_at, t.expires_at, t.retry, t.nacks, t.additional_deliveries, t.body, t.delay_mark, t.headers,
    t.is_scanned, r.room, r.soon, r.wait_ms
from (
    select
        ((select p.jobs from places as p) - (select count(*) from returned))::integer as room,
        m.is_shut or (
            m.has_slots
            and (select count(*) from own) + (select count(*) from free) < m.jobs
            and (select count(*) from free) < (select count(*) from slots as s where s.is_open and not s.is_held)
        ) as soon,
        (
            -- Waits for the tokens of a hundredth of a second, to limit the number of claims.
            select ceil(
                1000 * (greatest(1, least(b.burst, b.rate / 100)) - b.tokens + (select count(*) from picked)) / b.rate)
            from bucket as b
            where b.tokens - (select count(*) from picked) < 1
        )::integer as wait_ms
    from room as m
) as r
left join taken as t on true
