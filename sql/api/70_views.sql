-- Views for applications and operators.

set local search_path = pg_catalog, pg_temp;

-- Every job that has not expired. A condition on queue_id and number makes a query fast.
create or replace view pgdisque.jobs as
select
    pgdisque.api_id(s.key, n.id, j.queue_id, j.rank, j.id, j.expires_at, j.retry) as id,
    pgdisque.queue_name(q.name) as queue,
    case
        when j.wake_at = j.ready_at then 'delayed'
        when j.deliveries >= j.attempts and j.ready_at <= clock_timestamp() then 'exhausted'
        when j.ready_at <= clock_timestamp() or (j.ready_at = 'infinity' and j.owner is null
            and j.group_key is not null) then 'queued'
        else 'active'
    end as state,
    -j.rank as priority,
    pgdisque.api_created_at(j.id) as created_at,
    j.ready_at, j.expires_at, j.retry, j.delay, j.deliveries, j.nacks,
    j.additional_deliveries + case when j.owner is not null and j.ready_at <= clock_timestamp() then 1 else 0 end
        as additional_deliveries,
    j.owner as node,
    case when j.owner is not null then j.worker end as worker,
    j.body, j.queue_id, j.rank, j.id as number, pgdisque.queue_name(j.group_key) as group_key
from pgdisque.job as j
join pgdisque.queue as q on q.id = j.queue_id
cross join pgdisque.secret as s
left join pgdisque.node as n on n.number = pgdisque.api_node(j.id)
where j.expires_at > clock_timestamp();

-- Jobs that used all their attempts. ENQUEUE and REVIVE queue them again, ack_jobs() removes them.
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
    d.body, d.queue_id, d.rank, d.id as number
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
    f.result, f.body, f.queue_id, f.rank, f.id as number
from pgdisque.retained as f
join pgdisque.queue as q on q.id = f.queue_id
cross join pgdisque.secret as s
left join pgdisque.node as n on n.number = pgdisque.api_node(f.id)
where f.keep_until > clock_timestamp();

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
    s.body
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
where j.owner is not null
  and j.ready_at > clock_timestamp()
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

create or replace view pgdisque.own_workers with (security_barrier) as
select v.* from pgdisque.workers as v where v.queue_id in (select pgdisque.api_readable());
