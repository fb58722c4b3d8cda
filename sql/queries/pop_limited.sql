-- Deletes the next ready jobs of a queue with limits, or moves them, as pop_first, pop_last, move_first and
-- move_last do without limits. No job is taken while as many jobs run as max-active allows. A taken job needs
-- no slot, because it does not run. Each job takes a token of rate. Exhausted jobs are skipped.
-- params: $1 queue_id, $2 rank, $3 id (the key after which the scan begins), $4 limit, $5 now, $6 is_last (take
--         the last jobs; the key is not used), $7 queue_id, $8 id (arrays: the new keys, as many as the limit;
--         queue_id 0: the job is deleted)
-- returns: rank, id, ready_at, expires_at, retry, nacks, additional_deliveries, body, deliveries, attempts,
--          backoff, deadqueue, error, unique_key, unique_until, group_key, headers, progress,
--          errors, delay, replicate, own_expires_at, unique_start, in_flow (as pop_first), ordinal (of the
--          new key), to_wake_at, to_expires_at (of a move, as move_first),
--          room (number of jobs that could be taken), soon (another session has the tokens),
--          wait_ms (time until there is a token; null: not waiting for tokens);
--          in no order; if no job was taken, one row in which the columns before room are null
-- locks: the tokens and the jobs; skips locked rows
-- index: queue_setting_pkey, bucket_pkey, slot_pkey, job_pkey, then by ctid
with {{limits($1::integer)}},
room as materialized (
    select
        least(
            case when l.most > 0 and u.jobs >= l.most then 0 else $4::integer end,
            case when l.rate > 0 then coalesce((select floor(b.tokens) from bucket as b), 0)::integer end
        ) as jobs,
        l.rate > 0 and not exists (select from bucket) as is_shut
    from setting as l
    cross join lateral (
        select count(*) as jobs
        from pgdisque.slot as s
        join pgdisque.job as j on j.queue_id = any (array[s.queue_id]) and j.rank = s.rank and j.id = s.id
        where l.most > 0
          and s.queue_id = $1::integer
          and {{runs_in(j, s, $5::timestamptz)}}
    ) as u
),
first_ones as materialized (
    select r.ctid as place
    from pgdisque.job as r
    where not $6::boolean
      and r.queue_id = $1::integer
      and (r.rank, r.id) > ($2::smallint, $3::bigint)
      and {{queued(r, $5::timestamptz)}}
    order by r.rank, r.id
    limit (select m.jobs from room as m)
    for update skip locked
),
last_ones as materialized (
    select r.ctid as place
    from pgdisque.job as r
    where $6::boolean
      and r.queue_id = $1::integer
      and {{queued(r, $5::timestamptz)}}
    order by r.rank desc, r.id desc
    limit (select m.jobs from room as m)
    for update skip locked
),
found as materialized (
    select p.place, row_number() over () as ordinal
    from (
        select f.place
        from first_ones as f
        union all
        select l.place
        from last_ones as l
    ) as p
),
{{relocate($1::integer, $5::timestamptz, $7::integer[], $8::bigint[])}},
spent as (
    update pgdisque.bucket as b
    set {{spend(u, (select count(*) from found))}}
    from bucket as u
    where b.ctid = u.place
      and exists (select from found)
)
select
    {{popped(g)}},
    g.ordinal::integer, g.to_wake_at, g.to_expires_at, m.jobs as room, m.is_shut as soon, w.wait_ms
from room as m
cross join lateral (
    -- Waits for the tokens of a hundredth of a second, as claim_limited does.
    select max(ceil(
        1000 * (greatest(1, least(b.burst, b.rate / 100)) - b.tokens + (select count(*) from found)) / b.rate))::integer
        as wait_ms
    from bucket as b
    where b.tokens - (select count(*) from found) < 1
) as w
left join placed as g on true
