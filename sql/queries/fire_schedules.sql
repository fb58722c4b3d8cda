-- Adds the jobs of ticks, and sets the next ticks of their schedules. Both are one transaction, so that a tick
-- makes its jobs once, even if several servers try. A schedule that has changed since it was read is skipped. So is a
-- schedule whose unique key an open SQL transaction may take: api_take_key(). A tick adds no job if its unique key is
-- taken. With overlap 1 it adds none while the job before it exists. With overlap 2 it deletes that job. If another
-- session has locked that job, the tick stays due. Jobs that do not hold the key any more lose it.
-- params: $1 id, $2 revision, $3 next_at (as read), $4 next_at, $5 last_at (null: unchanged); then for a job:
--         $6 id (null: none), $7 ready_at, $8 expires_at, $9 wake_at, $10 queue_id, $11 tick. A row for each job;
--         the first five are equal in all rows of a schedule. A schedule with overlap has one row. Rows of an earlier
--         tick, which were sent again, do nothing. $12 now, $13 search_at (as read, of each row)
-- returns: queue_id, rank, id, is_added, queued_since, expires_at, retry, group_key, in_flow (of deleted jobs);
--          the added jobs, in the order of the parameters, and the deleted jobs
-- locks: the schedules, the deleted jobs, and the jobs that lose the key; skips locked rows
-- index: schedule_next, then by ctid; job_pkey, job_unique, unique_key_pkey, flow_job_pkey
with tick as materialized (
    select t.*
    from unnest(
        $1::bigint[], $2::bigint[], $3::timestamptz[], $4::timestamptz[], $5::timestamptz[],
        $6::bigint[], $7::timestamptz[], $8::timestamptz[], $9::timestamptz[], $10::integer[], $11::timestamptz[],
        $13::timestamptz[]
    ) with ordinality as t (
        schedule_id, revision, next_at, then_at, last_at, job_id, ready_at, expires_at, wake_at, job_queue, tick,
        search_at, ordinal
    )
),
-- An old snapshot keeps few versions of a schedule with the same search_at. The primary key would read all versions, so
-- row comparisons name the index.
locked as materialized (
    select
        s.id, s.revision, s.next_at, s.ctid as place, s.overlap, s.last_queue_id, s.last_id, s.unique_key
    from tick as t
    join pgdisque.schedule as s
        on (s.search_at, s.id) >= (t.search_at, t.schedule_id) and (s.search_at, s.id) <= (t.search_at, t.schedule_id)
    where s.revision = t.revision
      and s.next_at = t.next_at
      and (s.unique_key is null or t.job_id is null
          or pg_try_advisory_xact_lock_shared(7713, hashtext(encode(s.unique_key, 'hex') || t.job_queue)))
    for update of s skip locked
),
-- A schedule has a row for each of its ticks.
ready as materialized (
    select distinct l.*
    from locked as l
),
-- Another session may have locked a schedule for some of its ticks only, so a schedule has all its ticks or none.
due as materialized (
    select t.*
    from tick as t
    join ready as r on r.id = t.schedule_id and r.revision = t.revision and r.next_at = t.next_at
),
-- REPRIORITIZE may have changed the rank of the job.
unfinished as materialized (
    select s.id as schedule_id, s.overlap, f.place
    from ready as s
    cross join generate_series(-255, 0) as r (rank)
    -- The limit lets the planner only search the whole key, one rank at a time.
    cross join lateral (
        select j.ctid as place
        from pgdisque.job as j
        where j.queue_id = any (array[s.last_queue_id])
          and j.rank = r.rank::smallint
          and j.id = s.last_id
          and j.expires_at > $12::timestamptz
        limit 1
    ) as f
    where s.overlap is not null
),
tried as materialized (
    select u.schedule_id, u.place, coalesce({{lock_job(u.place)}}, false) as is_locked
    from unfinished as u
    join due as t on t.schedule_id = u.schedule_id
    where u.overlap = 2
      and t.job_id is not null
),
mine as materialized (
    select s.*
    from ready as s
    where not exists (select from tried as t where t.schedule_id = s.id and not t.is_locked)
),
replaced as (
    delete from pgdisque.job as j
    where j.ctid = any (array(select t.place from tried as t where t.is_locked))
    returning
        j.queue_id, j.rank, j.id, {{queued_since(j, $12::timestamptz)}} as queued_since, j.expires_at, j.retry,
        j.group_key, j.in_flow
),
noted as (
    {{note_outcome(replaced, 3)}}
),
-- The key of a replaced job goes with it.
freed as (
    update pgdisque.job as j
    set unique_key = null
    where j.ctid = any (array(
        select h.place
        from due as t
        join mine as m on m.id = t.schedule_id
        -- The limit lets the planner only search the index, one key at a time.
        cross join lateral (
            select o.ctid as place
            from pgdisque.job as o
            where o.queue_id = any (array[t.job_queue])
              and o.unique_key = m.unique_key
              and o.unique_key is not null
              and {{key_is_free(o, $12::timestamptz)}}
              and (m.overlap = 2 and o.id = m.last_id) is not true
            limit 1
            for update skip locked
        ) as h
        where t.job_id is not null
    ))
    returning j.id
),
wanted as materialized (
    select t.*
    from due as t
    join mine as m on m.id = t.schedule_id
    where t.job_id is not null
      and not exists (select from unfinished as u where u.schedule_id = t.schedule_id and u.overlap = 1)
      and (
          select true
          from pgdisque.job as j
          where j.queue_id = any (array[t.job_queue])
            and j.unique_key = m.unique_key
            and j.unique_key is not null
            and not {{key_is_free(j, $12::timestamptz)}}
            and (m.overlap = 2 and j.id = m.last_id) is not true
      ) is null
      and (
          select true
          from pgdisque.unique_key as k
          where k.queue_id = any (array[t.job_queue])
            and k.key = m.unique_key
            and {{is_after(k.until, $12)}}
      ) is null
),
moved as (
    update pgdisque.schedule as s
    set next_at = t.then_at,
        has_tick = true,
        last_at = coalesce(
            case when exists (select from wanted as w where w.schedule_id = s.id) then t.last_at end, s.last_at),
        last_queue_id = coalesce(
            (select max(w.job_queue) from wanted as w where w.schedule_id = s.id), s.last_queue_id),
        last_id = coalesce((select max(w.job_id) from wanted as w where w.schedule_id = s.id), s.last_id)
    from due as t
    where s.id = t.schedule_id
      and s.ctid = any (array(select m.place from mine as m))
    returning
        s.id, s.retry, s.delay, s.priority, s.attempts, s.backoff, s.deadqueue, s.body, s.headers, s.unique_key,
        s.unique_start, s.group_key
),
added as (
    insert into pgdisque.job
        (id, ready_at, expires_at, wake_at, queue_id, retry, delay, rank, attempts, backoff, deadqueue, body, headers,
         unique_key, unique_start, group_key)
    select
        w.job_id, case when m.group_key is null then w.ready_at else 'infinity' end, w.expires_at, w.wake_at,
        w.job_queue, m.retry, m.delay, -m.priority, m.attempts, m.backoff, m.deadqueue, m.body,
        {{tick_header(m.headers, w.tick)}},
        m.unique_key, m.unique_start, m.group_key
    from wanted as w
    join moved as m on m.id = w.schedule_id
    -- Only after the replaced jobs have gone, and the others have lost the key.
    where (select count(*) from replaced) >= 0
      and (select count(*) from freed) >= 0
    order by w.ordinal
    on conflict do nothing
    returning queue_id, rank, id, expires_at, retry, group_key
)
select
    a.queue_id, a.rank, a.id, true as is_added, null::timestamptz as queued_since, a.expires_at, a.retry, a.group_key,
    null::boolean as in_flow
from added as a
union all
select r.queue_id, r.rank, r.id, false, r.queued_since, r.expires_at, r.retry, r.group_key, r.in_flow
from replaced as r
