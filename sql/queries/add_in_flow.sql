-- Adds jobs that wait for other jobs, or that belong to a batch: ADDJOB AFTER, BATCH. A job waits in
-- pgdisque.waiting_job. It is added to its queue at once if all its predecessors have ended.
--
-- Another session may have ended or marked a predecessor just now, which is not visible here. The request must be
-- sent again if its predecessor is unknown. A predecessor may be a job of the same statement.
--
-- A job that was moved to another queue keeps its number. The row in flow_job is then that of the ended job in the
-- former queue. If that end is counted, the job takes over the row. Until then the job is an unknown predecessor. A
-- statement that names both jobs knows the job with the row, or else the job that is there.
--
-- Arrays by the ordinal of the job, and windows over equal ids, stand in place of joins, which would compare each row
-- with each.
-- params: as add_rare, then $17 batch_id (0: none; also the id of a job of the batch), $18 on_fail (if a predecessor
--         fails: 0 the job is cancelled, 1 it continues, 2 it waits while the predecessor is a dead letter);
--         $19 ordinal of the job, $20 queue_id, $21 rank, $22 id (a row for each predecessor; id 0: no predecessor);
--         $23 now; $24 must (the verdicts 3 and 4 are failures of the statement: SQLSTATE 2201E, logarithm of zero,
--         and 2201F, square root of a negative number)
-- returns: ordinal, verdict (1 added, 2 waits, 3 a predecessor is unknown, 4 the batch is unknown, cancelled or
--          complete, 5 it was added by an earlier try, 6 cancelled)
-- locks: the jobs and dead letters without a row in flow_job; the predecessors' rows in flow_job, key-shared; the
--        batches in the order of their ids; a deadlock is repeated by the server
-- index: job_pkey, flow_job_pkey, batch_pkey, dead_pkey, retained_0_pkey and the same of the other partitions
with wanted as materialized (
    select w.*, {{named_batch(w.batch_ref)}} as wanted_batch
    from unnest(
        $1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[], $5::integer[], $6::integer[],
        $7::integer[], $8::smallint[], $9::smallint[], $10::smallint[], $11::bytea[], $12::integer[],
        $13::integer[], $14::bytea[], $15::bytea[], $16::jsonb[], $17::bigint[], $18::smallint[]
    ) with ordinality as w (
        id, ready_at, expires_at, wake_at, queue_id, retry, delay, rank, replicate, owner, body, attempts, backoff,
        deadqueue, group_key, rare, batch_ref, on_fail, ordinal
    )
),
edge as materialized (
    select distinct e.ordinal, e.queue_id, e.rank, e.id
    from unnest($19::integer[], $20::integer[], $21::smallint[], $22::bigint[]) as e (ordinal, queue_id, rank, id)
    where e.id <> 0
),
-- The job with the row comes first, then a job in its queue.
predecessor as materialized (
    select distinct on (e.id) e.queue_id, e.rank, e.id
    from edge as e
    order by e.id, exists (
        select
        from pgdisque.flow_job as f
        where f.id = any (array[e.id]) and f.queue_id = e.queue_id and f.rank = e.rank
    ) desc, exists (
        select
        from pgdisque.job as j
        where j.queue_id = any (array[e.queue_id]) and j.rank = e.rank and j.id = e.id
    ) desc, {{is_dead_letter(e)}} desc
),
marked as (
    update pgdisque.job as j
    set in_flow = true
    from predecessor as p
    where j.queue_id = any (array[p.queue_id])
      and j.rank = p.rank
      and j.id = p.id
      and j.in_flow is null
      and j.expires_at > $23::timestamptz
      and not {{is_row_of_another(p)}}
    returning j.queue_id, j.rank, j.id, j.expires_at, j.retry, case when {{is_cancelled(j)}} then 3 end as outcome
),
known as materialized (
    select f.id, f.queue_id, f.rank, f.outcome, f.ended_at, f.after_failure
    from predecessor as p
    join pgdisque.flow_job as f on f.id = any (array[p.id])
    where f.queue_id = p.queue_id
      and f.rank = p.rank
    for key share of f
),
missing as materialized (
    select max(n.queue_id) as queue_id, max(n.rank) as rank, n.id
    from (
        select p.queue_id, p.rank, p.id, false as is_found
        from predecessor as p
        union all
        select null, null, u.id, true
        from (
            select m.id
            from marked as m
            union all
            select k.id
            from known as k
            union all
            select w.id
            from wanted as w
        ) as u
    ) as n
    group by n.id
    having not bool_or(n.is_found)
),
-- The change tells a session that revives such a job that the job gets a row in flow_job (resume).
died as (
    update pgdisque.dead_job as d
    set retry = d.retry
    from missing as p
    where d.queue_id = any (array[p.queue_id])
      and d.rank = p.rank
      and d.id = p.id
    returning d.id, d.queue_id, d.rank, d.expires_at, d.retry, d.error
),
past as (
    select p.queue_id, p.rank, p.id, r.expires_at, r.retry, 1 as outcome, r.result
    from missing as p
    join pgdisque.retained as r on r.queue_id = any (array[p.queue_id]) and r.rank = p.rank and r.id = p.id
    where r.keep_until > $23::timestamptz
    union all
    select d.queue_id, d.rank, d.id, d.expires_at, d.retry, 2, d.error
    from died as d
),
seen as (
    insert into pgdisque.flow_job as f
        (id, queue_id, rank, expires_at, retry, outcome, result, ended_at, is_settled)
    select m.id, m.queue_id, m.rank, m.expires_at, m.retry, m.outcome, null::bytea, null::timestamptz, false
    from marked as m
    union all
    select p.id, p.queue_id, p.rank, p.expires_at, p.retry, p.outcome, p.result, $23::timestamptz, true
    from past as p
    {{take_over_flow()}}
    returning queue_id, rank, id, outcome, ended_at
),
state as (
    select
        k.queue_id, k.rank, k.id, k.outcome, k.ended_at, k.after_failure,
        k.outcome > 1 and {{is_dead_letter(k)}} as is_dead_letter
    from known as k
    union all
    select s.queue_id, s.rank, s.id, s.outcome, s.ended_at, false, s.outcome = 2
    from seen as s
    union all
    select w.queue_id, w.rank, w.id, null, null, false, false
    from wanted as w
),
rated as materialized (
    select
        r.ordinal, r.id, r.is_known, r.on_fail = 2 as holds, r.is_failure,
        r.ended_at is not null and not (r.on_fail = 2 and r.is_dead_letter) as has_ended,
        r.outcome > 1 as is_bad
    from (
        select
            e.ordinal, e.id, ($18::smallint[])[e.ordinal] as on_fail,
            count(e.known_id) over same > 0 as is_known,
            max(e.outcome) over same as outcome,
            max(e.ended_at) over same as ended_at,
            coalesce(bool_or(e.outcome in (2, 4) or e.after_failure) over same, false) as is_failure,
            coalesce(bool_or(e.is_dead_letter) over same, false) as is_dead_letter
        from (
            select c.ordinal, c.queue_id, c.rank, c.id, null::bigint as known_id, null::smallint as outcome,
                null::timestamptz as ended_at, null::boolean as after_failure, null::boolean as is_dead_letter
            from edge as c
            union all
            select null, s.queue_id, s.rank, s.id, s.id, s.outcome, s.ended_at, s.after_failure, s.is_dead_letter
            from state as s
        ) as e
        window same as (partition by e.queue_id, e.rank, e.id)
    ) as r
    where r.ordinal is not null
),
-- The sums of the edges of each job, in the order of the jobs.
sums as materialized (
    select
        array_agg(n.unknown order by n.ordinal) as unknown, array_agg(n.pending order by n.ordinal) as pending,
        array_agg(n.failed order by n.ordinal) as failed, array_agg(n.is_failure order by n.ordinal) as is_failure
    from (
        select
            r.ordinal,
            count(*) filter (where not r.is_known)::integer as unknown,
            count(*) filter (where r.is_known and not r.has_ended)::integer as pending,
            count(*) filter (where r.has_ended and r.is_bad)::integer as failed,
            coalesce(bool_or(r.has_ended and r.is_failure), false) as is_failure
        from (
            select a.ordinal, a.is_known, a.has_ended, a.is_bad, a.is_failure
            from rated as a
            union all
            select o.ordinal, true, true, false, false
            from generate_series(1, cardinality($1::bigint[])) as o (ordinal)
        ) as r
        group by r.ordinal
    ) as n
),
open_batch as materialized (
    select b.id
    from pgdisque.batch as b
    where b.id = any (array(select w.wanted_batch from wanted as w))
      and b.completed_at is null
      and not b.is_cancelled
    order by b.id
    for no key update of b
),
judged as materialized (
    select
        w.*, p.pending, p.failed, p.is_failure, p.batch_id,
        case
            when p.unknown > 0 then 3
            when w.batch_ref <> 0 and p.batch_id is null then 4
            when {{is_in_flow(w)}} then 5
            when p.failed > 0 and w.on_fail <> 1 then 6
            when p.pending > 0 then 2
            else 1
        end as verdict
    from wanted as w
    cross join lateral (
        select
            s.unknown[w.ordinal] as unknown, s.pending[w.ordinal] as pending, s.failed[w.ordinal] as failed,
            s.is_failure[w.ordinal] as is_failure,
            case when w.wanted_batch = any (array(select o.id from open_batch as o)) then w.wanted_batch end
                as batch_id
        from sums as s
    ) as p
),
verdicts as materialized (
    select array_agg(j.verdict order by j.ordinal) as verdicts
    from judged as j
),
entered as (
    insert into pgdisque.flow_job (id, batch_id, queue_id, rank, expires_at, retry)
    select j.id, j.batch_id, j.queue_id, j.rank, j.expires_at, j.retry
    from judged as j
    where j.verdict in (1, 2, 6)
),
linked as (
    insert into pgdisque.dependency (predecessor_id, successor_id, is_counted, holds)
    select r.id, ($1::bigint[])[r.ordinal], r.has_ended, r.holds
    from rated as r
    cross join verdicts as v
    where v.verdicts[r.ordinal] in (1, 2, 6)
),
added as (
    insert into pgdisque.job
        (id, ready_at, expires_at, wake_at, queue_id, retry, delay, rank, replicate, body, attempts, backoff,
         deadqueue, group_key, headers, in_flow)
    select
        j.id, j.ready_at, j.expires_at, j.wake_at, j.queue_id, j.retry, j.delay, j.rank, j.replicate, j.body,
        j.attempts, j.backoff, j.deadqueue, j.group_key, j.rare -> 'headers', true
    from judged as j
    where j.verdict = 1
),
put_aside as (
    insert into pgdisque.waiting_job
        (id, expires_at, queue_id, retry, delay, pending, failed, attempts, backoff, rank, replicate, outcome,
         after_failure, continues, holds, body, group_key, deadqueue, headers)
    select
        j.id, j.expires_at, j.queue_id, j.retry, j.delay, j.pending, j.failed, j.attempts, j.backoff, j.rank,
        j.replicate, case when j.verdict = 6 then 3 end, j.verdict = 6 and j.is_failure, j.on_fail = 1, j.on_fail = 2,
        j.body, j.group_key, j.deadqueue, j.rare -> 'headers'
    from judged as j
    where j.verdict in (2, 6)
),
counted as (
    update pgdisque.batch as b
    set total = b.total + n.jobs
    from (
        select j.batch_id, count(*) as jobs
        from judged as j
        where j.verdict in (1, 2, 6)
          and j.batch_id is not null
        group by j.batch_id
    ) as n
    where b.id = any (array[n.batch_id])
)
select
    j.ordinal::integer,
    case
        when $24::boolean and j.verdict = 3 then ln(j.verdict - 3)
        when $24::boolean and j.verdict = 4 then sqrt(3 - j.verdict)
        else j.verdict
    end::integer as verdict
from judged as j
