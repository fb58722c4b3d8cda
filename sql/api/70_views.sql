-- Views for applications and operators.

set local search_path = pg_catalog, pg_temp;

-- Every job that has not expired. A condition on queue_id and number makes a query fast.
create or replace view pgdisque.jobs as
select
    pgdisque.api_id(s.key, n.id, j.queue_id, j.rank, j.id, j.expires_at, j.retry) as id,
    pgdisque.queue_name(q.name) as queue,
    case
        when j.wake_at = j.ready_at then 'delayed'
        when {{is_exhausted(j)}} and j.ready_at <= clock_timestamp() then 'exhausted'
        when j.ready_at <= clock_timestamp() then 'queued'
        when {{waits_in_group(j)}} and j.group_key is not null then 'waiting'
        else 'active'
    end as state,
    -j.rank as priority,
    pgdisque.api_created_at(j.id) as created_at,
    j.ready_at, j.expires_at, j.retry, j.delay, j.deliveries, j.nacks,
    {{additional(j, clock_timestamp())}} as additional_deliveries,
    j.owner as node,
    case when j.owner is not null then j.worker end as worker,
    j.body, j.queue_id, j.rank, j.id as number, pgdisque.queue_name(j.group_key) as group_key,
    {{metadata(j)}},
    pgdisque.body_text(j.body) as body_text, pgdisque.body_json(j.body) as body_json,
    pgdisque.queue_name(j.error) as error,
    {{is_cancelled(j)}} as cancelled,
    case when j.in_flow then {{batch_of(j.id, s.key)}} end as batch
from pgdisque.job as j
join pgdisque.queue as q on q.id = j.queue_id
cross join pgdisque.secret as s
left join pgdisque.node as n on n.number = pgdisque.api_node(j.id)
where j.expires_at > clock_timestamp();

-- Dead letters. ENQUEUE and REVIVE queue them again, ack_jobs() removes them.
create or replace view pgdisque.dead as
select
    pgdisque.api_id(s.key, n.id, d.queue_id, d.rank, d.id, d.expires_at, d.retry) as id,
    pgdisque.queue_name(q.name) as queue,
    d.died_at,
    pgdisque.queue_name(d.error) as error,
    -d.rank as priority,
    pgdisque.api_created_at(d.id) as created_at,
    d.expires_at, d.retry, d.delay, d.deliveries, d.attempts, d.backoff, d.nacks,
    d.additional_deliveries as additional_deliveries,
    d.body, d.queue_id, d.rank, d.id as number, {{metadata(d)}},
    pgdisque.body_text(d.body) as body_text, pgdisque.body_json(d.body) as body_json,
    {{batch_of(d.id, s.key)}} as batch
from pgdisque.dead_job as d
join pgdisque.queue as q on q.id = d.queue_id
cross join pgdisque.secret as s
left join pgdisque.node as n on n.number = pgdisque.api_node(d.id);

-- Retained jobs.
create or replace view pgdisque.done as
select
    pgdisque.api_id(s.key, n.id, f.queue_id, f.rank, f.id, f.expires_at, f.retry) as id,
    pgdisque.queue_name(q.name) as queue,
    -f.rank as priority,
    pgdisque.api_created_at(f.id) as created_at,
    f.finished_at, f.keep_until, f.retry, f.delay, f.deliveries, f.nacks,
    f.additional_deliveries as additional_deliveries, f.node, f.worker, pgdisque.queue_name(f.error) as error,
    f.result, f.body, f.queue_id, f.rank, f.id as number, {{metadata(f)}},
    pgdisque.body_text(f.body) as body_text, pgdisque.body_json(f.body) as body_json
from pgdisque.retained as f
join pgdisque.queue as q on q.id = f.queue_id
cross join pgdisque.secret as s
left join pgdisque.node as n on n.number = pgdisque.api_node(f.id)
where f.keep_until > clock_timestamp();

-- Jobs that wait for other jobs, and the completion jobs of open batches.
create or replace view pgdisque.waiting_jobs as
select
    pgdisque.api_id(s.key, n.id, w.queue_id, w.rank, w.id, w.expires_at, w.retry) as id,
    pgdisque.queue_name(q.name) as queue,
    w.pending, w.failed, w.continues, w.is_batch,
    -w.rank as priority,
    pgdisque.api_created_at(w.id) as created_at,
    w.expires_at, w.retry, w.delay, w.body, w.queue_id, w.rank, w.id as number,
    w.headers, pgdisque.body_text(w.body) as body_text, pgdisque.body_json(w.body) as body_json,
    w.holds, {{is_held(w)}} as is_held,
    {{batch_of(w.id, s.key)}} as batch
from pgdisque.waiting_job as w
join pgdisque.queue as q on q.id = w.queue_id
cross join pgdisque.secret as s
left join pgdisque.node as n on n.number = pgdisque.api_node(w.id)
where w.outcome is null
  and w.expires_at > clock_timestamp();

-- Batches. The ID is that of the completion job.
create or replace view pgdisque.batches as
select
    pgdisque.api_id(
        s.key, n.id, b.queue_id, b.rank, b.id,
        pgdisque.api_created_at(b.id) + 2147483647 * interval '1 second', b.retry) as id,
    pgdisque.queue_name(q.name) as queue,
    case when b.completed_at is not null then 'complete' when b.closed_at is not null then 'closed' else 'open' end
        as state,
    b.total, b.total - b.done - b.failed - b.cancelled as pending, b.done, b.failed, b.cancelled,
    b.created_at, b.closed_at, b.failed_at, b.completed_at, b.queue_id, b.id as number,
    b.succeeded_at, b.closes_at
from pgdisque.batch as b
join pgdisque.queue as q on q.id = b.queue_id
cross join pgdisque.secret as s
left join pgdisque.node as n on n.number = pgdisque.api_node(b.id);

-- Servers save the counters once a second. jobs and queued are counted by the query.
create or replace view pgdisque.queues as
select
    pgdisque.queue_name(q.name) as queue,
    q.id as queue_id,
    q.pause & 1 <> 0 as paused_in,
    q.pause & 2 <> 0 as paused_out,
    q.created_at,
    coalesce(c.jobs_in, 0) as jobs_in,
    coalesce(c.jobs_out, 0) as jobs_out,
    (select count(*) from pgdisque.job as j where j.queue_id = q.id and j.expires_at > clock_timestamp()) as jobs,
    (select count(*) from pgdisque.job as j
     where j.queue_id = q.id
       and {{queued(j, clock_timestamp())}}) as queued
from pgdisque.queue as q
left join pgdisque.queue_counter as c on c.queue_id = q.id;

-- The jobs of each queue by state, counted by the query: exact, in time that grows with their number. Servers give the
-- same numbers at once: QSTAT. The latency is that of the active jobs: the time from the moment when they were due to
-- their first delivery.
create or replace view pgdisque.queue_stats as
select
    pgdisque.queue_name(q.name) as queue,
    n.queued, n.delayed, n.active, n.waiting,
    (select count(*) from pgdisque.dead_job as d where d.queue_id = q.id) as dead,
    (select count(*) from pgdisque.retained as f where f.queue_id = q.id and f.keep_until > clock_timestamp()) as kept,
    n.oldest_due_at,
    clock_timestamp() - n.oldest_due_at as oldest_age,
    n.latency_p50 * interval '1 second' as latency_p50,
    n.latency_p99 * interval '1 second' as latency_p99,
    q.id as queue_id,
    (
        select count(*)
        from pgdisque.waiting_job as w
        where w.queue_id = q.id
          and w.outcome is null
          and w.has_body
          and w.expires_at > clock_timestamp()
    ) as after
from pgdisque.queue as q
cross join lateral (
    select
        count(*) filter (where s.state = 'queued') as queued,
        count(*) filter (where s.state = 'delayed') as delayed,
        count(*) filter (where s.state = 'active') as active,
        count(*) filter (where s.state = 'waiting') as waiting,
        min(s.ready_at) filter (where s.state = 'queued') as oldest_due_at,
        percentile_cont(0.5) within group (order by s.latency) as latency_p50,
        percentile_cont(0.99) within group (order by s.latency) as latency_p99
    from (
        select
            c.state, c.ready_at,
            case
                when c.state = 'active' and c.deliveries = 1 and c.nacks = 0 and c.additional_deliveries = 0
                    and c.ready_at < 'infinity'
                    then greatest(0, extract(epoch from
                        coalesce(c.leased_at, c.ready_at - c.retry * interval '1 second')
                        - pgdisque.api_created_at(c.id) - c.delay * interval '1 second'))
            end::double precision as latency
        from (
            select
                j.*,
                case
                    when {{is_delayed(j)}} then 'delayed'
                    when {{waits_in_group(j)}} then 'waiting'
                    when {{counted(j, clock_timestamp())}} then 'queued'
                    else 'active'
                end as state
            from pgdisque.job as j
            where j.queue_id = q.id
              and j.expires_at > clock_timestamp()
        ) as c
    ) as s
) as n;

-- next_at is null until a server has computed the first tick of a schedule that schedule() made.
create or replace view pgdisque.schedules as
select
    pgdisque.queue_name(s.name) as name,
    s.cron,
    pgdisque.queue_name(s.queue) as queue,
    (array['skip', 'once', 'all'])[s.missed + 1] as missed,
    case when s.has_tick then s.next_at end as next_at,
    s.last_at, s.priority, s.retry, s.ttl, s.delay, s.maxlen, s.attempts, s.backoff,
    pgdisque.queue_name(s.deadqueue) as deadqueue,
    s.body, s.headers,
    pgdisque.queue_name(s.unique_key) as unique_key,
    pgdisque.queue_name(s.group_key) as group_key,
    (array['queue', 'skip', 'replace'])[coalesce(s.overlap, 0) + 1] as overlap,
    pgdisque.body_text(s.body) as body_text, pgdisque.body_json(s.body) as body_json,
    s.unique_start is true as until_start
from pgdisque.schedule as s;

create or replace view pgdisque.nodes as
select n.number, n.id, n.addr, n.port, n.started_at, n.seen_at, n.leaving, n.left_at
from pgdisque.node as n;

-- The jobs that each worker has of each queue, and when the first of their leases ends. The names of a server's
-- clients appear after they have had a job for a second or two.
create or replace view pgdisque.workers as
select
    j.owner as node,
    j.worker,
    pgdisque.queue_name(q.name) as queue,
    count(*) as jobs,
    min(j.ready_at) as lease_ends_at,
    q.id as queue_id
from pgdisque.job as j
join pgdisque.queue as q on q.id = j.queue_id
where {{is_leased(j, clock_timestamp())}}
  and j.expires_at > clock_timestamp()
group by j.owner, j.worker, q.id;

-- The same for a role with rights on some queues: only the rows of the queues that the caller may read. A condition
-- of the caller runs after that of the view, because it may be a function that shows its arguments.
create or replace view pgdisque.own_jobs with (security_barrier) as
select v.* from pgdisque.jobs as v where v.queue_id in (select pgdisque.api_readable());

create or replace view pgdisque.own_dead with (security_barrier) as
select v.* from pgdisque.dead as v where v.queue_id in (select pgdisque.api_readable());

create or replace view pgdisque.own_done with (security_barrier) as
select v.* from pgdisque.done as v where v.queue_id in (select pgdisque.api_readable());

create or replace view pgdisque.own_queues with (security_barrier) as
select v.* from pgdisque.queues as v where v.queue_id in (select pgdisque.api_readable());

create or replace view pgdisque.own_queue_stats with (security_barrier) as
select v.* from pgdisque.queue_stats as v where v.queue_id in (select pgdisque.api_readable());

create or replace view pgdisque.own_workers with (security_barrier) as
select v.* from pgdisque.workers as v where v.queue_id in (select pgdisque.api_readable());

create or replace view pgdisque.own_batches with (security_barrier) as
select v.* from pgdisque.batches as v where v.queue_id in (select pgdisque.api_readable());

create or replace view pgdisque.own_waiting_jobs with (security_barrier) as
select v.* from pgdisque.waiting_jobs as v where v.queue_id in (select pgdisque.api_readable());

-- A schedule may name a queue that does not exist yet.
create or replace view pgdisque.own_schedules with (security_barrier) as
select v.* from pgdisque.schedules as v where pgdisque.api_may(convert_to(v.queue, 'UTF8'), 'read');
