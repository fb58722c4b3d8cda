-- Adds jobs whose unique keys are free: ADDJOB UNIQUE. A key is taken by a job that has not expired, or for a
-- time that has not passed. Expired jobs are not added. A request whose job and key are both missing in the
-- result must try again: another session has just taken the key. The statement fails with a not-null violation
-- if another session has just taken the key for a time and its job has gone. It must be repeated then.
-- params: as add_jobs, then $16 unique_key, $17 unique_until (null: until the job is gone), $18 now
-- returns: ordinal, rank, id, expires_at, retry; the jobs that have the taken keys, in the order of the
--          parameters; then the added jobs, with ordinal 0, in the order of their ids
-- locks: the keys, in their order, until the transaction ends; expired jobs that have the keys; skips locked
-- rows
-- index: job_unique, unique_key_pkey
with wanted as materialized (
    select w.*
    from unnest(
        $1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[], $5::integer[], $6::integer[],
        $7::integer[], $8::smallint[], $9::smallint[], $10::smallint[], $11::bytea[], $12::integer[],
        $13::integer[], $14::bytea[], $15::bytea[], $16::bytea[], $17::timestamptz[]
    ) with ordinality as w (
        id, ready_at, expires_at, wake_at, queue_id, retry, delay, rank, replicate, owner, body, attempts, backoff,
        deadqueue, group_key, unique_key, unique_until, ordinal
    )
),
freed as (
    update pgdisque.job as j
    set unique_key = null
    -- A locked job is about to be deleted, and the insert waits for that.
    where j.ctid = any (array(
        select e.ctid
        from wanted as w
        cross join lateral (
            select o.ctid
            from pgdisque.job as o
            where o.queue_id = w.queue_id
              and o.unique_key = w.unique_key
              and o.unique_key is not null
              and o.expires_at <= $18::timestamptz
            limit 1
            for update skip locked
        ) as e
    ))
    returning j.id
),
asked as materialized (
    select
        w.*,
        coalesce(j.id, k.id) as held_id,
        case when j.id is not null then j.rank else k.rank end as held_rank,
        case when j.id is not null then j.expires_at else k.expires_at end as held_expires_at,
        case when j.id is not null then j.retry else k.retry end as held_retry
    from wanted as w
    left join pgdisque.job as j
        on j.queue_id = any (array[w.queue_id]) and j.unique_key = w.unique_key and j.unique_key is not null
        and j.expires_at > $18::timestamptz
    left join pgdisque.unique_key as k
        on k.queue_id = any (array[w.queue_id]) and k.key = w.unique_key and k.until > $18::timestamptz
),
added as (
    insert into pgdisque.job
        (id, ready_at, expires_at, wake_at, queue_id, retry, delay, deliveries, rank, replicate, owner, body,
         attempts, backoff, deadqueue, unique_key, unique_until, group_key)
    select
        a.id, a.ready_at, a.expires_at, a.wake_at, a.queue_id, a.retry, a.delay,
        case when a.owner is null then 0 else 1 end, a.rank, a.replicate, a.owner, a.body,
        a.attempts, a.backoff, a.deadqueue, a.unique_key, a.unique_until, a.group_key
    from asked as a
    where a.held_id is null
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
kept as (
    insert into pgdisque.unique_key as k (id, expires_at, until, queue_id, retry, rank, key)
    select a.id, a.expires_at, a.unique_until, a.queue_id, a.retry, a.rank, a.unique_key
    from added as a
    where a.unique_until is not null
    on conflict (queue_id, key) do update
    set id = excluded.id,
        expires_at = excluded.expires_at,
        until = case when k.until > $18::timestamptz then null else excluded.until end,
        retry = excluded.retry,
        rank = excluded.rank
)
(
    select
        h.ordinal::integer, h.held_rank as rank, h.held_id as id, h.held_expires_at as expires_at,
        h.held_retry as retry
    from asked as h
    where h.held_id is not null
)
union all
(
    select 0, a.rank, a.id, a.expires_at, a.retry
    from added as a
    order by a.id
)
