-- Releases the first job of each group, after a job was added or has ended, unless a released job still exists.
-- group-max-active, or max-active with per-group, limits the number of released jobs of a group. Each release takes a
-- token of group-rate, or of rate with per-group, as in claim_limited.
--
-- A new group is inserted, and the request must be sent again. The same applies to a group that another session
-- has just changed, because these changes may not be visible here.
--
-- The search begins five seconds before the job that was released last. That job had no job before it then, and a new
-- job has a later id. So the search does not pass over the dead rows of earlier jobs of this priority. A request for a
-- late job searches the whole group. If no job can be released now, an entry with id 0 in ids makes the next search
-- whole. The search after each thousandth release is whole, for the jobs of a server that failed before such a request.
-- params: $1 queue_id, $2 key, $3 now, $4 is_late (1: the request is for a job with an old id)
-- returns: ordinal, rank, id, wait_ms; the released jobs, with null wait_ms; then one row of each group that was
--          handled, with null rank and id, and wait_ms: time until there is a token for the next job, or null
-- locks: the groups, in the order of their keys when they are inserted; else skips locked rows; the jobs
-- index: the last pages of job_group, or job_group_pkey; queue_setting_pkey, job_pkey, job_in_group; then by ctid
with wanted as materialized (
    select
        w.ordinal, w.queue_id, w.key,
        bool_or(w.is_late <> 0) over (partition by w.queue_id, w.key) as is_late
    from unnest($1::integer[], $2::bytea[], $4::smallint[]) with ordinality as w (queue_id, key, is_late, ordinal)
),
-- The same time for all rows, because a group may be named twice.
clock as materialized (
    select clock_timestamp() as now
),
newest as materialized (
    select g.ctid as place, g.queue_id, g.key
    from pgdisque.job_group as g
    where g.ctid >= {{tail('pgdisque.job_group', 3, 60)}}
),
seen as materialized (
    select
        w.ordinal, g.ctid as place, g.queue_id, g.key, g.turn, g.rank, g.id, l.most, l.rate, l.burst, a.ranks, a.ids,
        c.now,
        w.is_late, coalesce(0 = any (g.ids), false) as was_late,
        case
            when l.rate > 0 then {{group_tokens(g, l, c.now)}}
        end::double precision as tokens
    from wanted as w
    cross join clock as c
    cross join lateral (
        select coalesce(
            (select n.place from newest as n where n.queue_id = w.queue_id and n.key = w.key),
            (select f.ctid from pgdisque.job_group as f where f.queue_id = any (array[w.queue_id]) and f.key = w.key)
        ) as place
    ) as p
    join pgdisque.job_group as g on g.ctid = p.place
    cross join lateral (
        {{group_limits(g.queue_id)}}
    ) as l
    cross join lateral (
        select array_agg(h.rank) as ranks, array_agg(h.id) as ids
        from (
            select g.rank, g.id
            union all
            select u.rank, u.id
            from unnest(g.ranks, g.ids) as u (rank, id)
        ) as o
        cross join lateral (
            select j.rank, j.id
            from pgdisque.job as j
            where j.queue_id = any (array[g.queue_id])
              and j.rank = o.rank
              and j.id = o.id
              and j.expires_at > $3::timestamptz
            limit 1
        ) as h
    ) as a
),
made as (
    insert into pgdisque.job_group (queue_id, key)
    select w.queue_id, w.key
    from wanted as w
    where w.ordinal <> all (array(select s.ordinal from seen as s))
    order by w.queue_id, w.key
    on conflict (queue_id, key) do nothing
),
looked as materialized (
    select
        s.ordinal, s.place, s.turn, s.queue_id, s.key, s.rate, s.burst, s.ranks, s.ids, s.now, s.tokens, s.is_late,
        s.was_late, p.places,
        case
            when s.is_late or s.was_late or s.id is null or s.turn % 1000 = 0 then -32768
            else s.rank
        end::smallint as from_rank,
        -- 41 bits of an id are milliseconds.
        s.id - (5000::bigint << 22) as from_id, least(0, s.id - (5000::bigint << 22) + 1) as front_id,
        coalesce(floor(s.tokens)::integer, p.places) as whole_tokens
    from seen as s
    cross join lateral (select greatest(0, s.most - coalesce(cardinality(s.ids), 0)) as places) as p
),
-- Reads one job more than there are tokens, to know whether a job waits for tokens.
next as materialized (
    select
        l.ordinal, l.place, l.turn, l.queue_id, l.key, l.rate, l.ranks, l.ids, l.now, l.tokens, l.is_late,
        l.was_late, (l.is_late or l.was_late) and least(l.places, l.whole_tokens) < 1 as stays_late,
        f.ranks[:l.whole_tokens] as next_ranks, f.ids[:l.whole_tokens] as next_ids,
        case
            -- Waits for the tokens of a hundredth of a second, to limit the number of requests.
            when cardinality(f.ids) > l.whole_tokens
                then ceil(1000 * (greatest(1, least(l.burst, l.rate / 100)) - l.tokens + l.whole_tokens) / l.rate)
        end::integer as wait_ms
    from looked as l
    cross join lateral (
        select array_agg(c.rank order by c.rank, c.id) as ranks, array_agg(c.id order by c.rank, c.id) as ids
        from (
            -- Jobs of the same priority, jobs that were moved to the front, jobs of higher and of lower priorities.
            {{first_in_group(l, j.rank = l.from_rank and j.id > l.from_id, $3::timestamptz)}}
            union all
            {{first_in_group(l, j.rank = l.from_rank and j.id < l.front_id, $3::timestamptz)}}
            union all
            {{first_in_group(l, j.rank < l.from_rank, $3::timestamptz)}}
            union all
            {{first_in_group(l, j.rank > l.from_rank, $3::timestamptz)}}
            order by rank, id
            limit least(l.places, l.whole_tokens + 1)
        ) as c
    ) as f
),
-- A check that releases no job writes nothing, because an old snapshot keeps each version of the row. Each job
-- that is added or ends has its own check, with a later snapshot. A request for a late job writes the row, so a check
-- with an earlier snapshot does not remove the entry with id 0.
changed as materialized (
    select n.*
    from next as n
    join pgdisque.job_group as g on g.ctid = n.place and g.turn = n.turn
    where n.next_ids <> '{}'
       or n.wait_ms is not null
       or n.is_late
       or n.stays_late <> n.was_late
    for update of g skip locked
),
chosen as materialized (
    select n.ordinal, n.queue_id, f.rank, f.id
    from changed as n
    cross join lateral unnest(n.next_ranks, n.next_ids) as f (rank, id)
),
freed as (
    update pgdisque.job as j
    set ready_at = $3::timestamptz
    from chosen as c
    where j.queue_id = any (array[c.queue_id])
      and j.rank = c.rank
      and j.id = c.id
      and {{waits_in_group(j)}}
    returning c.ordinal, j.rank, j.id
),
turned as (
    update pgdisque.job_group as g
    set turn = g.turn + 1,
        used_at = $3::timestamptz,
        rank = coalesce(a.ranks[1], g.rank),
        id = coalesce(a.ids[1], g.id),
        ranks = nullif(coalesce(a.ranks[2:], '{}') || l.late::smallint[], '{}'),
        ids = nullif(coalesce(a.ids[2:], '{}') || l.late::bigint[], '{}'),
        tokens = n.tokens - coalesce(cardinality(n.next_ids), 0),
        settled_at = case when n.rate > 0 then n.now end,
        next_at = n.now + n.wait_ms * interval '1 millisecond'
    from changed as n
    -- The first of the new jobs is the first: no job waits before it.
    cross join lateral (select n.next_ranks || n.ranks as ranks, n.next_ids || n.ids as ids) as a
    cross join lateral (select case when n.stays_late then '{0}' else '{}' end as late) as l
    where g.ctid = n.place
)
select f.ordinal::integer, f.rank, f.id, null as wait_ms
from freed as f
union all
select n.ordinal::integer, null, null, n.wait_ms
from changed as n
union all
select n.ordinal::integer, null, null, null
from next as n
where coalesce(n.next_ids, '{}') = '{}'
  and n.wait_ms is null
  and not n.is_late
  and n.stays_late = n.was_late
