-- Counts the ends of jobs: for their batches, and for the jobs that wait for them. Releases the jobs that wait for
-- nothing else, and cancels jobs whose predecessor has failed. Completes batches. A dead letter does not end for
-- successors with ON FAIL hold, until it is revived or deleted.
--
-- A waiting job becomes a dead letter if a predecessor has failed, or if it has expired and its queue keeps these.
--
-- A job that is not in the result has not ended, or another session has locked its rows. The request must be sent
-- again then. The successors of a job are counted in pages.
-- params: $1 id, $2 now, $3 limit (successors of each job), $4 holds, $5 successor_id (the page of successors begins
--         after that one; holds 0, successor_id 0: with the first)
-- returns: kind, queue_id, rank, id, expires_at, retry, wake_at (null: no delay), group_key, ordinal, exit,
--          last_holds, last_id, is_dead_letter;
--          kind 1: a job entered its queue; kind 2: a job has ended, and its own end must be counted next (other
--          columns null); kind 3: the end of the job was counted (exit: not null if the job was waiting, its
--          outcome; is_dead_letter: it became a dead letter); kind 4: the same, and more jobs wait for it
--          (last_holds, last_id: the last successor of the page; null: no other successor is free now)
-- locks: the jobs' rows in flow_job, their batches, the waiting jobs; skips locked rows
-- index: flow_job_pkey, job_pkey, dead_pkey, waiting_job_id, batch_pkey, dependency_of_predecessor, dependency_pkey
with seen as materialized (
    select
        f.id, f.turn, a.ordinal, a.after_holds, a.after_id, w.id is not null as was_waiting,
        coalesce(w.outcome, x.outcome) as exit,
        coalesce(w.after_failure, false) as after_failure,
        d.is_there is not null as is_dead_letter,
        coalesce(
            case when w.outcome is null then x.outcome = 2 else w.outcome = 3 and w.after_failure end, false
        ) as becomes_dead
    from (
        select distinct on (u.id) u.id, u.ordinal, u.after_holds <> 0 as after_holds, u.after_id
        from unnest($1::bigint[], $4::smallint[], $5::bigint[]) with ordinality
            as u (id, after_holds, after_id, ordinal)
        order by u.id, u.ordinal
    ) as a
    join pgdisque.flow_job as f on f.id = any (array[a.id])
    left join pgdisque.waiting_job as w on w.id = any (array[a.id])
    cross join lateral (
        select case
            when w.id is null then null
            when not w.is_batch and {{keeps_expired(w.queue_id)}} then 2
            else 4
        end as outcome
    ) as x
    left join lateral (
        select true as is_there
        from pgdisque.job as j
        where j.queue_id = any (array[f.queue_id])
          and j.rank = f.rank
          and j.id = f.id
        limit 1
    ) as l on true
    left join lateral (
        select true as is_there
        from pgdisque.dead_job as t
        where t.queue_id = any (array[f.queue_id])
          and t.rank = f.rank
          and t.id = f.id
        limit 1
    ) as d on true
    where l.is_there is null
      and (w.id is null or w.outcome is not null or w.expires_at <= $2::timestamptz)
      and (
        not f.is_settled
        or exists (
            select
            from pgdisque.dependency as n
            where n.predecessor_id = f.id
              and not n.is_counted
              and not (n.holds and d.is_there is not null)
        )
      )
),
locked as materialized (
    select
        f.id, f.queue_id, f.rank, f.batch_id, f.expires_at, f.retry, s.ordinal, s.after_holds, s.after_id,
        s.was_waiting, s.exit, s.becomes_dead,
        f.ended_at is null as is_new,
        s.is_dead_letter or s.becomes_dead as holds,
        f.after_failure or s.after_failure as after_failure,
        coalesce(f.outcome, case when s.was_waiting then s.exit end, 1) as outcome
    from seen as s
    join pgdisque.flow_job as f on f.id = any (array[s.id]) and f.turn = s.turn
    for update of f skip locked
),
-- Their rows as waiting jobs. Another session may be changing some of these.
aside as materialized (
    select w.id
    from locked as l
    join pgdisque.waiting_job as w on w.id = any (array[l.id])
    where l.was_waiting
      and coalesce(w.outcome, l.exit) = l.exit
    for update of w skip locked
),
free as materialized (
    select l.*
    from locked as l
    where not l.was_waiting
       or l.id = any (array(select a.id from aside as a))
),
batches as materialized (
    select b.*
    from pgdisque.batch as b
    where b.id = any (array(select f.batch_id from free as f where f.is_new and f.batch_id is not null))
    for update skip locked
),
ended as materialized (
    select f.*, f.outcome in (2, 4) or f.after_failure as is_failure
    from free as f
    where f.batch_id is null
       or not f.is_new
       or f.batch_id = any (array(select b.id from batches as b))
       -- An old batch was deleted, and one of its dead letters was revived after that.
       or not exists (select from pgdisque.batch as b where b.id = any (array[f.batch_id]))
),
edge as materialized (
    select e.ordinal, e.id as predecessor_id, d.successor_id, d.holds, e.outcome, e.is_failure
    from ended as e
    cross join lateral (
        select n.successor_id, n.holds
        from pgdisque.dependency as n
        where n.predecessor_id = e.id
          and not n.is_counted
          and (n.holds, n.successor_id) > (e.after_holds, e.after_id)
          and not (n.holds and e.holds)
        order by n.holds, n.successor_id
        limit $3::integer
    ) as d
),
waits as materialized (
    select w.id, w.pending, w.failed, w.continues
    from pgdisque.waiting_job as w
    where w.id = any (array(select e.successor_id from edge as e))
      and w.id <> all (array(select e.id from ended as e))
      and w.outcome is null
    for update skip locked
),
-- Windows over equal ids stand in place of a join, which would compare each edge with each waiting job.
met as materialized (
    select g.*
    from (
        select
            x.ordinal, x.predecessor_id, x.successor_id, x.outcome, x.is_failure,
            max(x.pending) over same as pending, max(x.failed) over same as failed,
            bool_or(x.continues) over same as continues
        from (
            select
                e.ordinal, e.predecessor_id, e.successor_id, e.outcome, e.is_failure, null::integer as pending,
                null::integer as failed, null::boolean as continues
            from edge as e
            union all
            select null, null, w.id, null, null, w.pending, w.failed, w.continues
            from waits as w
        ) as x
        window same as (partition by x.successor_id)
    ) as g
    where g.predecessor_id is not null
),
counted as materialized (
    select m.*
    from met as m
    left join lateral (
        select true as is_there
        from pgdisque.waiting_job as w
        where m.pending is null
          and w.id = any (array[m.successor_id])
          and w.outcome is null
        limit 1
    ) as l on true
    where m.pending is not null
       or l.is_there is null
),
marked as (
    update pgdisque.dependency as d
    set is_counted = true
    from counted as c
    where d.successor_id = any (array[c.successor_id])
      and d.predecessor_id = c.predecessor_id
),
stand as materialized (
    select n.*, n.continues or n.failed = 0 as runs
    from (
        select
            c.successor_id as id,
            max(c.pending) - count(*) as pending,
            max(c.failed) + count(*) filter (where c.outcome > 1) as failed,
            bool_or(c.is_failure) as is_failure,
            bool_or(c.continues) as continues
        from counted as c
        where c.pending is not null
        group by c.successor_id
    ) as n
),
tally as materialized (
    select
        b.id, b.queue_id, b.rank, b.retry, b.failure_id, b.failure_body, b.failed_at, b.success_id, b.success_body,
        b.closed_at is not null as is_closed, b.completed_at is null as is_open,
        b.succeeded_at is null and not b.is_expired and b.success_body is not null as may_succeed,
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
      and t.is_open
      and t.total = t.done + t.failed + t.cancelled
),
{{complete(complete, $2::timestamptz)}},
clean as materialized (
    select t.*
    from tally as t
    where t.is_closed
      and t.may_succeed
      and t.total = t.done
),
summed as (
    update pgdisque.batch as b
    set done = t.done,
        failed = t.failed,
        cancelled = t.cancelled,
        failed_at = coalesce(b.failed_at, case when t.failed + t.cancelled > 0 then $2::timestamptz end),
        completed_at = coalesce(b.completed_at, case when c.id is not null then $2::timestamptz end),
        succeeded_at = coalesce(b.succeeded_at, case when s.id is not null then $2::timestamptz end)
    from tally as t
    left join ready as c on c.id = t.id
    left join clean as s on s.id = t.id
    where b.id = any (array[t.id])
),
-- The failure job is added once, by the first end without success.
failing as materialized (
    select t.*
    from tally as t
    where t.failed_at is null
      and t.failed + t.cancelled > 0
      and t.failure_body is not null
),
alarm as (
    {{batch_job(failing, failure_id, failure_body, $2::timestamptz)}}
),
success as (
    {{batch_job(clean, success_id, success_body, $2::timestamptz)}}
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
    set outcome = 3, after_failure = s.is_failure, pending = s.pending, failed = s.failed
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
    returning w.*, e.becomes_dead
),
kept as (
    insert into pgdisque.dead_job
        (id, died_at, expires_at, queue_id, retry, delay, deliveries, nacks, additional_deliveries, attempts,
         backoff, rank, replicate, error, body, headers)
    select
        g.id, case when g.outcome is null then g.expires_at else $2::timestamptz end, g.expires_at, g.queue_id, g.retry,
        g.delay, 0, 0, 0, g.attempts, g.backoff, g.rank, g.replicate, {{never_ran(g.outcome)}}, g.body, g.headers
    from gone as g
    where g.becomes_dead
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
        e.*, p.last_holds, p.last_id,
        exists (
            select
            from pgdisque.dependency as d
            where d.predecessor_id = e.id
              and not d.is_counted
              and not (d.holds and e.holds)
            offset (select count(*) from counted as c where c.ordinal = e.ordinal)
        ) as has_more
    from ended as e
    left join lateral (
        select n.holds as last_holds, n.successor_id as last_id
        from edge as n
        where n.ordinal = e.ordinal
        order by n.holds desc, n.successor_id desc
        limit 1
    ) as p on true
),
settled as (
    update pgdisque.flow_job as f
    set outcome = r.outcome,
        ended_at = coalesce(f.ended_at, $2::timestamptz),
        turn = f.turn + 1,
        is_settled = not r.has_more,
        after_failure = r.after_failure,
        result = case
            when r.becomes_dead then {{never_ran(case when r.outcome = 3 then 3 end)}}
            else f.result
        end
    from rest as r
    where f.id = any (array[r.id])
)
select
    1 as kind, w.queue_id, w.rank, w.id, w.expires_at, w.retry,
    case when w.delay > 0 then $2::timestamptz + w.delay * interval '1 second' end as wake_at,
    w.group_key, null::integer as ordinal, null::integer as exit, null::boolean as last_holds, null::bigint as last_id,
    null::boolean as is_dead_letter
from woken as w
union all
select 1, a.queue_id, a.rank, a.id, a.expires_at, a.retry, null, null, null, null, null, null, null
from (
    select f.*
    from alarm as f
    union all
    select s.*
    from success as s
) as a
union all
select 2, null, null, n.id, null, null, null, null, null, null, null, null, null
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
    r.ordinal::integer, case when r.was_waiting then r.outcome end, r.last_holds, r.last_id, r.becomes_dead
from rest as r
