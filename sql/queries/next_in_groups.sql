-- Releases the first job of each group, after a job was added or has ended, unless a released job still exists.
-- group-max-active, or max-active with per-group, limits the number of released jobs of a group. Each release takes a
-- token of group-rate, or of rate with per-group, as in claim_limited.
--
-- A new group is inserted, and the request must be sent again. The same applies to a group that another session
-- has just changed, because these changes may not be visible here.
-- params: $1 queue_id, $2 key, $3 now
-- returns: ordinal, rank, id, wait_ms; the released jobs, with null wait_ms; then one row of each group that was
--          handled, with null rank and id, and wait_ms: time until there is a token for the next job, or null
-- locks: the groups, in the order of their keys when they are inserted; else skips locked rows; the jobs
-- index: job_group_pkey, queue_setting_pkey, job_pkey, job_in_group
with wanted as materialized (
    select w.ordinal, w.queue_id, w.key
    from unnest($1::integer[], $2::bytea[]) with ordinality as w (queue_id, key, ordinal)
),
-- The same time for all rows, because a group may be named twice.
clock as materialized (
    select clock_timestamp() as now
),
made as (
    insert into pgdisque.job_group (queue_id, key)
    select w.queue_id, w.key
    from wanted as w
    where not exists (
        select from pgdisque.job_group as g where g.queue_id = any (array[w.queue_id]) and g.key = w.key)
    order by w.queue_id, w.key
    on conflict (queue_id, key) do nothing
),
seen as materialized (
    select
        w.ordinal, g.queue_id, g.key, g.turn, l.most, l.rate, l.burst, a.ranks, a.ids, c.now,
        case
            when l.rate > 0 then least(
                l.burst,
                coalesce(
                    g.tokens + l.rate * greatest(0, extract(epoch from c.now - g.settled_at)), 'infinity'))
        end::double precision as tokens
    from wanted as w
    cross join clock as c
    join pgdisque.job_group as g on g.queue_id = any (array[w.queue_id]) and g.key = w.key
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
looked as materialized (
    select
        s.ordinal, s.queue_id, s.key, s.rate, s.burst, s.ranks, s.ids, s.now, s.tokens, p.places,
        coalesce(floor(s.tokens)::integer, p.places) as whole_tokens
    from seen as s
    cross join lateral (select greatest(0, s.most - coalesce(cardinality(s.ids), 0)) as places) as p
    join pgdisque.job_group as g
        on g.queue_id = any (array[s.queue_id]) and g.key = s.key and g.turn = s.turn
    for update of g skip locked
),
-- Reads one job more than there are tokens, to know whether a job waits for tokens.
next as materialized (
    select
        l.ordinal, l.queue_id, l.key, l.rate, l.ranks, l.ids, l.now, l.tokens,
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
            select j.rank, j.id
            from pgdisque.job as j
            where j.queue_id = l.queue_id
              and j.group_key = l.key
              and j.group_key is not null
              and j.expires_at > $3::timestamptz
              and j.id <> all (coalesce(l.ids, '{}'))
            order by j.rank, j.id
            limit least(l.places, l.whole_tokens + 1)
        ) as c
    ) as f
),
chosen as materialized (
    select n.ordinal, n.queue_id, f.rank, f.id
    from next as n
    cross join lateral unnest(n.next_ranks, n.next_ids) as f (rank, id)
),
freed as (
    update pgdisque.job as j
    set ready_at = $3::timestamptz
    from chosen as c
    where j.queue_id = any (array[c.queue_id])
      and j.rank = c.rank
      and j.id = c.id
      and j.ready_at = 'infinity'
      and j.owner is null
    returning c.ordinal, j.rank, j.id
),
turned as (
    update pgdisque.job_group as g
    set turn = g.turn + 1,
        used_at = $3::timestamptz,
        rank = coalesce(a.ranks[1], g.rank),
        id = coalesce(a.ids[1], g.id),
        ranks = nullif(a.ranks[2:], '{}'),
        ids = nullif(a.ids[2:], '{}'),
        tokens = n.tokens - coalesce(cardinality(n.next_ids), 0),
        settled_at = case when n.rate > 0 then n.now end,
        next_at = n.now + n.wait_ms * interval '1 millisecond'
    from next as n
    cross join lateral (select n.ranks || n.next_ranks as ranks, n.ids || n.next_ids as ids) as a
    where g.queue_id = any (array[n.queue_id])
      and g.key = n.key
)
select f.ordinal::integer, f.rank, f.id, null as wait_ms
from freed as f
union all
select n.ordinal::integer, null, null, n.wait_ms
from next as n
