-- Counts the ends of jobs: for their batches, and for the jobs that wait for them. Releases the jobs that wait for
-- nothing else, and cancels jobs whose predecessor has failed. Completes batches. A waiting job that has expired
-- becomes a dead letter if its queue keeps these.
--
-- A job that is not in the result has not ended, or another session has locked its rows. The request must be sent
-- again then.
-- params: $1 id, $2 now, $3 limit (dependencies that are counted)
-- returns: kind, queue_id, rank, id, expires_at, retry, wake_at (null: no delay), group_key, ordinal, exit;
--          kind 1: a job entered its queue; kind 2: a job has ended, and its own end must be counted next (other
--          columns null); kind 3: the end of the job was counted (exit: not null if the job was waiting, its
--          outcome); kind 4: the same, and more jobs wait for it
-- locks: the jobs' rows in flow_job, their batches, the waiting jobs; skips locked rows
-- index: flow_job_pkey, job_pkey, waiting_job_id, batch_pkey, dependency_of_predecessor
with seen as materialized (
    select
        f.id, f.turn, a.ordinal, w.id is not null as was_waiting,
        coalesce(w.outcome, case when not w.is_batch and {{keeps_expired(w.queue_id)}} then 2 else 4 end) as exit
    from (
        select distinct on (u.id) u.id, u.ordinal
        from unnest($1::bigint[]) with ordinality as u (id, ordinal)
        order by u.id, u.ordinal
    ) as a
    join pgdisque.flow_job as f on f.id = any (array[a.id])
    left join pgdisque.waiting_job as w on w.id = any (array[a.id])
    left join lateral (
        select true as lives
        from pgdisque.job as j
        where j.queue_id = any (array[f.queue_id])
          and j.rank = f.rank
          and j.id = f.id
        limit 1
    ) as l on true
    where not f.is_settled
      and l.lives is null
      and (w.id is null or w.outcome is not null or w.expires_at <= $2::timestamptz)
),
locked as materialized (
    select
        f.id, f.queue_id, f.rank, f.batch_id, f.expires_at, f.retry, s.ordinal, s.was_waiting,
        f.ended_at is null as is_new,
        coalesce(f.outcome, case when s.was_waiting then s.exit end, 1) as outcome
    from seen as s
    join pgdisque.flow_job as f on f.id = any (array[s.id]) and f.turn = s.turn
    for update of f skip locked
),
batches as materialized (
    select b.*
    from pgdisque.batch as b
    where b.id = any (array(select l.batch_id from locked as l where l.is_new and l.batch_id is not null))
    for update skip locked
),
ended as materialized (
    select l.*
    from locked as l
    where l.batch_id is null
       or not l.is_new
       or exists (select from batches as b where b.id = l.batch_id)
),
edge as materialized (
    select d.predecessor_id, d.successor_id, e.outcome
    from ended as e
    join pgdisque.dependency as d on d.predecessor_id = any (array[e.id]) and not d.is_counted
    limit $3::integer
),
waits as materialized (
    select w.id, w.pending, w.failed, w.continues
    from pgdisque.waiting_job as w
    where w.id = any (array(select e.successor_id from edge as e))
      and w.id <> all (array(select e.id from ended as e))
      and w.outcome is null
    for update skip locked
),
counted as materialized (
    select e.predecessor_id, e.successor_id, e.outcome
    from edge as e
    left join waits as w on w.id = e.successor_id
    left join pgdisque.waiting_job as a on a.id = any (array[e.successor_id]) and a.outcome is null
    where w.id is not null
       or a.id is null
),
marked as (
    update pgdisque.dependency as d
    set is_counted = true
    from counted as c
    where d.successor_id = any (array[c.successor_id])
      and d.predecessor_id = c.predecessor_id
),
stand as materialized (
    select
        w.id,
        w.pending - n.jobs as pending,
        w.failed + n.failed as failed,
        w.continues or w.failed + n.failed = 0 as runs
    from waits as w
    cross join lateral (
        select count(*) as jobs, count(*) filter (where c.outcome > 1) as failed
        from counted as c
        where c.successor_id = w.id
    ) as n
),
tally as materialized (
    select
        b.id, b.queue_id, b.rank, b.retry, b.failure_id, b.failure_body, b.failed_at,
        b.closed_at is not null as is_closed,
        b.total, b.done + n.done as done, b.failed + n.failed as failed, b.cancelled + n.cancelled as cancelled
    from batches as b
    cross join lateral (
        select
            count(*) filter (where e.outcome = 1) as done,
            count(*) filter (where e.outcome in (2, 4)) as failed,
            count(*) filter (where e.outcome = 3) as cancelled
        from ended as e
        where e.is_new
          and e.batch_id = b.id
    ) as n
),
complete as materialized (
    select t.id, t.failed + t.cancelled = 0 as is_clean
    from tally as t
    where t.is_closed
      and t.total = t.done + t.failed + t.cancelled
),
{{complete(complete, $2::timestamptz)}},
summed as (
    update pgdisque.batch as b
    set done = t.done,
        failed = t.failed,
        cancelled = t.cancelled,
        failed_at = coalesce(b.failed_at, case when t.failed + t.cancelled > 0 then $2::timestamptz end),
        completed_at = case when c.id is not null then $2::timestamptz end
    from tally as t
    left join ready as c on c.id = t.id
    where b.id = any (array[t.id])
),
alarm as (
    -- The failure job is added once, by the first end without success.
    insert into pgdisque.job (id, ready_at, expires_at, wake_at, queue_id, retry, rank, body)
    select t.failure_id, $2::timestamptz, x.expires_at, x.expires_at, t.queue_id, t.retry, t.rank, t.failure_body
    from tally as t
    cross join lateral (
        select {{created_at(t.failure_id)}} + 2147483647 * interval '1 second' as expires_at
    ) as x
    where t.failed_at is null
      and t.failed + t.cancelled > 0
      and t.failure_body is not null
    returning queue_id, rank, id, expires_at, retry
),
released as (
    delete from pgdisque.waiting_job as w
    using stand as s
    where w.id = any (array[s.id])
      and s.pending = 0
      and s.runs
    returning w.*
),
doomed as (
    update pgdisque.waiting_job as w
    set outcome = 3, pending = s.pending, failed = s.failed
    from stand as s
    where w.id = any (array[s.id])
      and not s.runs
    returning w.id
),
advanced as (
    update pgdisque.waiting_job as w
    set pending = s.pending, failed = s.failed
    from stand as s
    where w.id = any (array[s.id])
      and s.pending > 0
      and s.runs
),
gone as (
    delete from pgdisque.waiting_job as w
    using ended as e
    where w.id = any (array[e.id])
      and e.was_waiting
    returning w.*, e.outcome = 2 and w.outcome is null as is_dead
),
kept as (
    insert into pgdisque.dead_job
        (id, died_at, expires_at, queue_id, retry, delay, deliveries, nacks, additional_deliveries, attempts,
         backoff, rank, replicate, body, headers)
    select
        g.id, g.expires_at, g.expires_at, g.queue_id, g.retry, g.delay, 0, 0, 0, g.attempts, g.backoff, g.rank,
        g.replicate, g.body, g.headers
    from gone as g
    where g.is_dead
    on conflict (queue_id, rank, id) do nothing
),
woken as materialized (
    select r.*
    from released as r
    union all
    select c.*
    from finished as c
),
added as (
    {{insert_released(woken, $2::timestamptz)}}
),
rest as materialized (
    select
        e.*,
        exists (
            select
            from pgdisque.dependency as d
            where d.predecessor_id = e.id
              and not d.is_counted
            offset (select count(*) from counted as c where c.predecessor_id = e.id)
        ) as has_more
    from ended as e
),
settled as (
    update pgdisque.flow_job as f
    set outcome = r.outcome,
        ended_at = coalesce(f.ended_at, $2::timestamptz),
        turn = f.turn + 1,
        is_settled = not r.has_more
    from rest as r
    where f.id = any (array[r.id])
)
select
    1 as kind, w.queue_id, w.rank, w.id, w.expires_at, w.retry,
    case when w.delay > 0 then $2::timestamptz + w.delay * interval '1 second' end as wake_at,
    w.group_key, null::integer as ordinal, null::integer as exit
from woken as w
union all
select 1, a.queue_id, a.rank, a.id, a.expires_at, a.retry, null, null, null, null
from alarm as a
union all
select 2, null, null, n.id, null, null, null, null, null, null
from (
    select d.id
    from doomed as d
    union all
    select b.id
    from bare as b
) as n
union all
select
    case when r.has_more then 4 else 3 end, r.queue_id, r.rank, r.id, r.expires_at, r.retry, null, null,
    r.ordinal::integer, case when r.was_waiting then r.outcome end
from rest as r
