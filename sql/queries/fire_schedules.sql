-- Adds the jobs of ticks, and sets the next ticks of their schedules. Both are one transaction, so that a tick
-- makes its jobs once, even if several servers try. A schedule that has changed since it was read is skipped.
-- params: $1 id, $2 revision, $3 next_at (as read), $4 next_at, $5 last_at (null: unchanged); then for a job:
--         $6 id (null: none), $7 ready_at, $8 expires_at, $9 wake_at, $10 queue_id. A row for each job; the
--         first five are equal in all rows of a schedule
-- returns: id; the added jobs, in the order of the parameters
-- locks: the schedules; skips locked rows
-- index: schedule_pkey
with tick as (
    select t.*
    from unnest(
        $1::bigint[], $2::bigint[], $3::timestamptz[], $4::timestamptz[], $5::timestamptz[],
        $6::bigint[], $7::timestamptz[], $8::timestamptz[], $9::timestamptz[], $10::integer[]
    ) with ordinality as t (
        schedule_id, revision, next_at, then_at, last_at, job_id, ready_at, expires_at, wake_at, queue_id, ordinal
    )
),
mine as (
    select s.id
    from tick as t
    join pgdisque.schedule as s on s.id = t.schedule_id
    where s.revision = t.revision
      and s.next_at = t.next_at
    for update of s skip locked
),
moved as (
    update pgdisque.schedule as s
    set next_at = t.then_at,
        has_tick = true,
        last_at = coalesce(t.last_at, s.last_at)
    from tick as t
    where s.id = t.schedule_id
      and s.id = any (array(select m.id from mine as m))
    returning s.id, s.retry, s.delay, s.priority, s.attempts, s.backoff, s.deadqueue, s.body
)
insert into pgdisque.job
    (id, ready_at, expires_at, wake_at, queue_id, retry, delay, rank, attempts, backoff, deadqueue, body)
select
    t.job_id, t.ready_at, t.expires_at, t.wake_at, t.queue_id, m.retry, m.delay, -m.priority, m.attempts,
    m.backoff, m.deadqueue, m.body
from tick as t
join moved as m on m.id = t.schedule_id
where t.job_id is not null
order by t.ordinal
returning id
