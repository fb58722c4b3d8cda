-- Adds jobs that wait for other jobs, or that belong to a batch: ADDJOB AFTER, BATCH. A job waits in
-- pgdisque.waiting_job. It is added to its queue at once if all its predecessors have ended.
--
-- Another session may have ended or marked a predecessor just now, which is not visible here. The request must be
-- sent again if its predecessor is unknown.
-- params: as add_rare, then $17 batch_id (0: none; also the id of a job of the batch), $18 continues (0: the job is
--         cancelled if a predecessor fails); $19 successor_id, $20 queue_id, $21 rank, $22 id (a row for each
--         predecessor; id 0: no predecessor); $23 now; $24 must (the verdicts 3 and 4 are failures of the statement:
--         SQLSTATE 2201E, logarithm of zero, and 2201F, square root of a negative number)
-- returns: ordinal, verdict (1 added, 2 waits, 3 a predecessor is unknown, 4 the batch is unknown or complete,
--          5 it was added by an earlier try, 6 cancelled)
-- locks: the jobs without a row in flow_job; the predecessors' rows in flow_job, key-shared; the batches in the
--        order of their ids; a deadlock is repeated by the server
-- index: job_pkey, flow_job_pkey, batch_pkey, dead_pkey, retained_0_pkey and the same of the other partitions
with wanted as materialized (
    select w.*, coalesce(b.id, f.batch_id) as wanted_batch
    from unnest(
        $1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[], $5::integer[], $6::integer[],
        $7::integer[], $8::smallint[], $9::smallint[], $10::smallint[], $11::bytea[], $12::integer[],
        $13::integer[], $14::bytea[], $15::bytea[], $16::jsonb[], $17::bigint[], $18::smallint[]
    ) with ordinality as w (
        id, ready_at, expires_at, wake_at, queue_id, retry, delay, rank, replicate, owner, body, attempts, backoff,
        deadqueue, group_key, rare, batch_ref, continues, ordinal
    )
    left join pgdisque.batch as b on b.id = any (array[w.batch_ref])
    left join pgdisque.flow_job as f on f.id = any (array[w.batch_ref])
),
edge as materialized (
    select distinct on (e.successor_id, e.id) e.successor_id, e.queue_id, e.rank, e.id
    from unnest($19::bigint[], $20::integer[], $21::smallint[], $22::bigint[])
        as e (successor_id, queue_id, rank, id)
    where e.id <> 0
    order by e.successor_id, e.id
),
predecessor as materialized (
    select distinct on (e.id) e.queue_id, e.rank, e.id
    from edge as e
    order by e.id
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
    returning j.queue_id, j.rank, j.id, j.expires_at, j.retry, case when {{is_cancelled(j)}} then 3 end as outcome
),
known as materialized (
    select f.id, f.outcome, f.ended_at
    from pgdisque.flow_job as f
    where f.id = any (array(select p.id from predecessor as p))
    for key share of f
),
past as (
    select p.queue_id, p.rank, p.id, r.expires_at, r.retry, 1 as outcome, r.result
    from predecessor as p
    join pgdisque.retained as r on r.queue_id = any (array[p.queue_id]) and r.rank = p.rank and r.id = p.id
    where r.keep_until > $23::timestamptz
    union all
    select p.queue_id, p.rank, p.id, d.expires_at, d.retry, 2, null
    from predecessor as p
    join pgdisque.dead_job as d on d.queue_id = any (array[p.queue_id]) and d.rank = p.rank and d.id = p.id
),
seen as (
    insert into pgdisque.flow_job (id, queue_id, rank, expires_at, retry, outcome, result, ended_at, is_settled)
    select m.id, m.queue_id, m.rank, m.expires_at, m.retry, m.outcome, null::bytea, null::timestamptz, false
    from marked as m
    union all
    select p.id, p.queue_id, p.rank, p.expires_at, p.retry, p.outcome, p.result, $23::timestamptz, true
    from past as p
    where not exists (select from known as k where k.id = p.id)
    on conflict (id) do nothing
    returning id, outcome, ended_at
),
state as materialized (
    select k.id, k.outcome, k.ended_at
    from known as k
    union all
    select s.id, s.outcome, s.ended_at
    from seen as s
),
open_batch as materialized (
    select b.id
    from pgdisque.batch as b
    where b.id = any (array(select w.wanted_batch from wanted as w))
      and b.completed_at is null
    order by b.id
    for no key update of b
),
judged as materialized (
    select
        w.*, o.id as batch_id, p.pending, p.failed,
        case
            when p.unknown > 0 then 3
            when w.batch_ref <> 0 and o.id is null then 4
            when g.id is not null then 5
            when p.failed > 0 and w.continues = 0 then 6
            when p.pending > 0 then 2
            else 1
        end as verdict
    from wanted as w
    cross join lateral (
        select
            count(*) filter (where s.id is null) as unknown,
            count(*) filter (where s.id is not null and s.ended_at is null) as pending,
            count(*) filter (where s.ended_at is not null and s.outcome > 1) as failed
        from edge as e
        left join state as s on s.id = e.id
        where e.successor_id = w.id
    ) as p
    left join pgdisque.flow_job as g on g.id = any (array[w.id])
    left join open_batch as o on o.id = w.wanted_batch
),
entered as (
    insert into pgdisque.flow_job (id, batch_id, queue_id, rank, expires_at, retry)
    select j.id, j.batch_id, j.queue_id, j.rank, j.expires_at, j.retry
    from judged as j
    where j.verdict in (1, 2, 6)
),
linked as (
    insert into pgdisque.dependency (predecessor_id, successor_id, is_counted)
    select e.id, e.successor_id, s.ended_at is not null
    from edge as e
    join judged as j on j.id = e.successor_id
    join state as s on s.id = e.id
    where j.verdict in (1, 2, 6)
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
         continues, body, group_key, deadqueue, headers)
    select
        j.id, j.expires_at, j.queue_id, j.retry, j.delay, j.pending, j.failed, j.attempts, j.backoff, j.rank,
        j.replicate, case when j.verdict = 6 then 3 end, j.continues = 1, j.body, j.group_key, j.deadqueue,
        j.rare -> 'headers'
    from judged as j
    where j.verdict in (2, 6)
),
counted as (
    update pgdisque.batch as b
    set total = b.total + n.jobs
    from open_batch as o
    cross join lateral (
        select count(*) as jobs
        from judged as j
        where j.batch_id = o.id
          and j.verdict in (1, 2, 6)
    ) as n
    where b.id = any (array[o.id])
)
select
    j.ordinal::integer,
    case
        when $24::boolean and j.verdict = 3 then ln(j.verdict - 3)
        when $24::boolean and j.verdict = 4 then sqrt(3 - j.verdict)
        else j.verdict
    end::integer as verdict
from judged as j
