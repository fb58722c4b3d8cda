-- Adds jobs whose unique keys are free: ADDJOB UNIQUE. A key is taken by a job that has not expired, or for a
-- time that has not passed. Expired jobs are not added. A request with a row without id must try again: another
-- session has just taken the key. The statement fails with a not-null violation
-- if another session has just taken the key for a time and its job has gone, and in place of such a result if $20
-- demands it. It must be repeated then.
-- params: as add_jobs, then $16 unique_key, $17 unique_until (null: until the job is gone), $18 now,
--         $19 rare (as add_rare, and "until_start": the key is free when the job is delivered, "replace_delay": the job
--         that has the key gets this body if it was not delivered, and if true this delay, too),
--         $20 must (each job is added, or its key is held; no two jobs have the same key),
--         $21 trace (0: none; the number of a row in commit_marker, which tells that the request must try again),
--         $22 tried (0: none; the trace of a committed try, which has added the job or found a holder unless the
--         row is there: the job is only looked for), $23 node
-- returns: ordinal, rank, id, expires_at, retry, is_replaced, was_until (as left_since, if its delay has changed,
--          else null), delayed_until (the end of its new delay; null: it is queued); the jobs that have the taken
--          keys, and rows without id, in the order of the parameters; then the added jobs, with ordinal 0, in the
--          order of their ids
-- locks: the keys, in their order, until the transaction ends; jobs that have the keys; skips locked rows
-- index: job_unique, then by ctid; unique_key_pkey; commit_marker_pkey
with wanted as materialized (
    select w.*
    from unnest(
        $1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[], $5::integer[], $6::integer[],
        $7::integer[], $8::smallint[], $9::smallint[], $10::smallint[], $11::bytea[], $12::integer[],
        $13::integer[], $14::bytea[], $15::bytea[], $16::bytea[], $17::timestamptz[],
        $19::jsonb[], $21::bigint[], $22::bigint[]
    ) with ordinality as w (
        id, ready_at, expires_at, wake_at, queue_id, retry, delay, rank, replicate, owner, body, attempts, backoff,
        deadqueue, group_key, unique_key, unique_until, rare, trace, tried, ordinal
    )
),
asked as materialized (
    select
        w.*,
        (
            w.tried <> 0 and (
                select f.transaction
                from pgdisque.commit_marker as f
                where f.node = $23::smallint
                  and f.transaction = w.tried
                limit 1
            ) is null
        ) is true as is_done,
        case when j.is_free then j.place end as free_place,
        case when j.is_free is false then j.id else k.id end as held_id,
        case when j.is_free is false then j.rank else k.rank end as held_rank,
        case when j.is_free is false then j.expires_at else k.expires_at end as held_expires_at,
        case when j.is_free is false then j.retry else k.retry end as held_retry
    from wanted as w
    -- The limit lets the planner only search the index, one key at a time.
    left join lateral (
        select
            o.ctid as place, o.id, o.rank, o.expires_at, o.retry,
            {{key_is_free(o, $18::timestamptz)}} as is_free
        from pgdisque.job as o
        where o.queue_id = w.queue_id
          and o.unique_key = w.unique_key
          and o.unique_key is not null
        limit 1
    ) as j on true
    left join pgdisque.unique_key as k
        on k.queue_id = any (array[w.queue_id]) and k.key = w.unique_key and k.until > $18::timestamptz
),
freed as (
    update pgdisque.job as j
    set unique_key = null
    -- A locked job is about to be deleted, and the insert waits for that.
    where j.ctid = any (array(
        select a.free_place
        from asked as a
        where a.free_place is not null
          and {{lock_job(a.free_place)}}
    ))
    returning j.id
),
added as (
    insert into pgdisque.job
        (id, ready_at, expires_at, wake_at, queue_id, retry, delay, deliveries, rank, replicate, owner, body,
         attempts, backoff, deadqueue, unique_key, unique_until, unique_start, group_key, headers)
    select
        a.id, a.ready_at, a.expires_at, a.wake_at, a.queue_id, a.retry, a.delay,
        case when a.owner is null then 0 else 1 end, a.rank, a.replicate, a.owner, a.body,
        a.attempts, a.backoff, a.deadqueue, a.unique_key, a.unique_until,
        (a.rare -> 'until_start')::boolean, a.group_key,
        a.rare -> 'headers'
    from asked as a
    where a.held_id is null
      and not a.is_done
      and a.expires_at > $18::timestamptz
      -- An open SQL transaction may take the key, and may last long: api_take_key().
      and pg_try_advisory_xact_lock_shared(7713, hashtext(encode(a.unique_key, 'hex') || a.queue_id))
      -- Only after the expired jobs have given up their keys.
      and (select count(*) from freed) >= 0
    -- The order prevents deadlocks of servers that take the same keys.
    order by a.queue_id, a.unique_key, a.id
    on conflict do nothing
    returning queue_id, rank, id, expires_at, retry, unique_key, unique_until
),
unseen as materialized (
    select a.ordinal, a.trace
    from asked as a
    where a.held_id is null
      and not a.is_done
      and a.expires_at > $18::timestamptz
      and a.id not in (select n.id from added as n)
),
traced as (
    insert into pgdisque.commit_marker (node, transaction)
    select $23::smallint, u.trace
    from unseen as u
    where u.trace <> 0
),
kept as (
    insert into pgdisque.unique_key as k (id, expires_at, until, queue_id, retry, rank, key)
    select a.id, a.expires_at, a.unique_until, a.queue_id, a.retry, a.rank, a.unique_key
    from added as a
    where a.unique_until is not null
    union all
    -- The nulls fail the statement.
    select null, null, null, null, null, null, null
    from unseen as u
    where $20::boolean
    on conflict (queue_id, key) do update
    set id = excluded.id,
        expires_at = excluded.expires_at,
        until = case when k.until > $18::timestamptz then null else excluded.until end,
        retry = excluded.retry,
        rank = excluded.rank
),
-- The jobs that REPLACE changes, each once: the last body counts, and the last delay.
found as materialized (
    select
        r.ordinals, r.queue_id, r.held_rank as rank, r.held_id as id, r.body, r.delay, o.was_until,
        case when r.is_moved and r.delay > 0 then r.ready_at end as delayed_until,
        -- A job that would expire before its new delay ends has its time to live again after the delay.
        case when r.is_moved and r.delay > 0 and o.may_move then o.next_expires_at else o.expires_at end as expires_at,
        r.is_moved and (r.delay > 0 or o.is_delayed) and o.may_move as is_moved
    from (
        select
            a.queue_id, a.held_rank, a.held_id,
            array_agg(a.ordinal order by a.ordinal desc) as ordinals,
            (array_agg(a.body order by a.ordinal desc))[1] as body,
            (array_agg(a.delay order by (a.rare -> 'replace_delay')::boolean desc, a.ordinal desc))[1] as delay,
            (array_agg(a.ready_at order by (a.rare -> 'replace_delay')::boolean desc, a.ordinal desc))[1] as ready_at,
            bool_or((a.rare -> 'replace_delay')::boolean) as is_moved
        from asked as a
        where a.held_id is not null
          and not a.is_done
          and a.rare ? 'replace_delay'
        group by a.queue_id, a.held_rank, a.held_id
    ) as r
    cross join lateral (
        select
            j.expires_at, {{revived_until(j, r.ready_at)}} as next_expires_at,
            j.ready_at < 'infinity' and j.group_key is null as may_move,
            j.wake_at is not distinct from j.ready_at as is_delayed,
            {{left_since(j)}} as was_until
        from pgdisque.job as j
        where j.queue_id = r.queue_id
          and j.rank = r.held_rank
          and j.id = r.held_id
          and j.expires_at > $18::timestamptz
          and {{not_leased(j, $18::timestamptz)}}
          and {{has_attempts(j)}}
        limit 1
        for update skip locked
    ) as o
),
replaced as (
    update pgdisque.job as j
    set body = f.body,
        delay = case when f.is_moved then f.delay else j.delay end,
        ready_at = case when f.is_moved then coalesce(f.delayed_until, $18::timestamptz) else j.ready_at end,
        expires_at = f.expires_at,
        wake_at = case
            when not f.is_moved then j.wake_at
            when f.delayed_until is not null then f.delayed_until
            else j.expires_at
        end,
        additional_deliveries = j.additional_deliveries
            + case when f.is_moved and j.owner is not null then 1 else 0 end,
        owner = case when not f.is_moved then j.owner end,
        slot = case when not f.is_moved then j.slot end
    from found as f
    where j.queue_id = any (array[f.queue_id])
      and j.rank = f.rank
      and j.id = f.id
)
-- Groups instead of a join, which would compare each row with each.
(
    select
        u.ordinal::integer, max(u.rank) as rank, max(u.id) as id, max(u.expires_at) as expires_at,
        max(u.retry) as retry, bool_or(u.is_replaced) as is_replaced, max(u.was_until) as was_until,
        max(u.delayed_until) as delayed_until
    from (
        select
            h.ordinal, h.held_rank as rank, h.held_id as id, h.held_expires_at as expires_at, h.held_retry as retry,
            false as is_replaced, null::timestamptz as was_until, null::timestamptz as delayed_until
        from asked as h
        where h.held_id is not null
        union all
        -- The last request counts the change of the delay.
        select
            o.ordinal, null, null, f.expires_at, null, true,
            case when f.is_moved and o.ordinal = f.ordinals[1] then f.was_until end,
            case when f.is_moved and o.ordinal = f.ordinals[1] then f.delayed_until end
        from found as f
        cross join lateral unnest(f.ordinals) as o (ordinal)
        union all
        select u.ordinal, null, null, null, null, false, null, null
        from unseen as u
    ) as u
    group by u.ordinal
    order by u.ordinal
)
union all
(
    select 0, a.rank, a.id, a.expires_at, a.retry, false, null, null
    from added as a
    order by a.id
)
