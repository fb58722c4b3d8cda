-- Workflows and batches: jobs that wait for other jobs, and jobs that are counted together.

set local search_path = pg_catalog, pg_temp;

-- The number of a batch, by its ID or by that of one of its jobs. Locks the batch until the transaction ends.
create or replace function pgdisque.api_open_batch(batch text) returns bigint
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    named constant bigint := (
        select k.id from pgdisque.api_keys(pgdisque.api_permitted(array[batch], 'read', 'write')) as k);
    found_id bigint;
begin
    select b.id into found_id
    from pgdisque.batch as b
    where b.id = coalesce(
        (select o.id from pgdisque.batch as o where o.id = named),
        (select f.batch_id from pgdisque.flow_job as f where f.id = named))
      and b.completed_at is null
    for no key update of b;
    if found_id is null then
        raise exception 'NOJOB BATCH names no batch that takes jobs: it is unknown or complete'
            using errcode = 'invalid_parameter_value';
    end if;
    return found_id;
end
$$;

-- Gives predecessors their rows in flow_job, and locks these rows against the count of their ends.
create or replace function pgdisque.api_follow(predecessors text[]) returns bigint[]
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    ids bigint[];
begin
    with marked as (
        update pgdisque.job as j
        set in_flow = true
        from pgdisque.api_keys(predecessors) as k
        where j.queue_id = any (array[k.queue_id])
          and j.rank = k.rank
          and j.id = k.id
          and j.in_flow is null
          and j.expires_at > clock_timestamp()
        returning j.id, j.queue_id, j.rank, j.expires_at, j.retry, case when {{is_cancelled(j)}} then 3 end as outcome
    )
    insert into pgdisque.flow_job (id, queue_id, rank, expires_at, retry, outcome)
    select m.id, m.queue_id, m.rank, m.expires_at, m.retry, m.outcome
    from marked as m
    on conflict on constraint flow_job_pkey do nothing;
    insert into pgdisque.flow_job (id, queue_id, rank, expires_at, retry, outcome, result, ended_at, is_settled)
    select e.id, e.queue_id, e.rank, e.expires_at, e.retry, e.outcome, e.result, clock_timestamp(), true
    from (
        select r.id, r.queue_id, r.rank, r.expires_at, r.retry, 1 as outcome, r.result
        from pgdisque.api_keys(predecessors) as k
        join pgdisque.retained as r on r.queue_id = k.queue_id and r.rank = k.rank and r.id = k.id
        where r.keep_until > clock_timestamp()
        union all
        select d.id, d.queue_id, d.rank, d.expires_at, d.retry, 2, null
        from pgdisque.api_keys(predecessors) as k
        join pgdisque.dead_job as d on d.queue_id = k.queue_id and d.rank = k.rank and d.id = k.id
    ) as e
    on conflict on constraint flow_job_pkey do nothing;
    select array_agg(f.id) into ids
    from (
        select g.id
        from pgdisque.flow_job as g
        where g.id in (select k.id from pgdisque.api_keys(predecessors) as k)
        for key share of g
    ) as f;
    if coalesce(cardinality(ids), 0) < (select count(distinct p) from unnest(predecessors) as p) then
        raise exception 'NOJOB AFTER names a job that is unknown' using errcode = 'invalid_parameter_value';
    end if;
    return ids;
end
$$;

-- Earlier versions had these functions without attempts. A call must find one function only.
drop function if exists
    pgdisque.add_job_after(text, text, text[], text, text, integer, integer, integer, integer, jsonb),
    pgdisque.add_job_after(text, bytea, text[], text, text, integer, integer, integer, integer, jsonb),
    pgdisque.add_job_after(text, jsonb, text[], text, text, integer, integer, integer, integer, jsonb),
    pgdisque.api_add_after(text, bytea, text[], text, text, integer, integer, integer, integer, jsonb);

-- As add_job_after().
create or replace function pgdisque.api_add_after(
    queue text, job bytea, after text[], on_fail text, batch text, delay integer, retry integer, ttl integer,
    priority integer, headers jsonb, attempts integer, backoff integer, deadqueue text, group_key text
) returns text
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    added_at constant timestamptz := clock_timestamp();
    group_bytes constant bytea := convert_to(group_key, 'UTF8');
    place record;
    settled record;
    predecessors bigint[];
    batch_id bigint;
    new_id bigint;
    ends timestamptz;
    ended bigint;
    failed bigint;
begin
    if on_fail is null or on_fail not in ('cancel', 'continue') then
        raise exception 'ERR on_fail must be cancel or continue' using errcode = 'invalid_parameter_value';
    end if;
    if cardinality(after) > 1000 then
        raise exception 'LIMIT AFTER must be given once, with 1 to 1000 job IDs'
            using errcode = 'invalid_parameter_value';
    end if;
    perform pgdisque.api_refuse_bodies(array[job]);
    perform pgdisque.api_refuse_group(group_bytes, delay);
    perform pgdisque.api_refuse_headers(headers);
    perform pgdisque.api_require(queue, 'write');
    if deadqueue is not null then
        perform pgdisque.api_require(deadqueue, 'write');
    end if;
    if cardinality(pgdisque.api_permitted(after, 'read', 'write')) < cardinality(after) then
        raise exception 'NOJOB AFTER names a job that is unknown' using errcode = 'invalid_parameter_value';
    end if;
    place := pgdisque.api_queue(convert_to(queue, 'UTF8'), true);
    if place.pause & 1 <> 0 then
        raise exception 'PAUSED Queue paused in input, try later' using errcode = 'object_not_in_prerequisite_state';
    end if;
    settled := pgdisque.api_settle(
        queue, place.queue_id, delay, priority, retry, ttl, attempts, backoff, convert_to(deadqueue, 'UTF8'));
    predecessors := coalesce(pgdisque.api_follow(coalesce(after, '{}')), '{}');
    if batch is not null then
        batch_id := pgdisque.api_open_batch(batch);
        update pgdisque.batch as b set total = b.total + 1 where b.id = batch_id;
    end if;
    new_id := pgdisque.api_new_id();
    ends := pgdisque.api_created_at(new_id) + settled.ttl * interval '1 second';
    select
        count(*) filter (where f.ended_at is not null),
        count(*) filter (where f.ended_at is not null and f.outcome > 1)
    into ended, failed
    from pgdisque.flow_job as f
    where f.id = any (predecessors);
    insert into pgdisque.flow_job (id, batch_id, queue_id, rank, expires_at, retry)
    values (new_id, batch_id, place.queue_id, -priority, ends, settled.retry);
    insert into pgdisque.dependency (predecessor_id, successor_id, is_counted)
    select f.id, new_id, f.ended_at is not null
    from pgdisque.flow_job as f
    where f.id = any (predecessors);
    if ended < cardinality(predecessors) or (failed > 0 and on_fail = 'cancel') then
        insert into pgdisque.waiting_job
            (id, expires_at, queue_id, retry, delay, pending, failed, attempts, backoff, rank, replicate, outcome,
             continues, body, deadqueue, group_key, headers)
        values
            (new_id, ends, place.queue_id, settled.retry, delay, cardinality(predecessors) - ended, failed,
             nullif(settled.attempts, 0), nullif(settled.backoff, 0), -priority, 1,
             case when failed > 0 and on_fail = 'cancel' then 3 end, on_fail = 'continue', job,
             settled.deadqueue, group_bytes, nullif(headers, '{}'));
    else
        perform pgdisque.api_insert(
            array[new_id], array[job], place.queue_id, added_at, delay, settled.retry, settled.ttl,
            priority, settled.attempts, settled.backoff, settled.deadqueue, group_bytes, null, null, headers);
        update pgdisque.job as j
        set in_flow = true
        where j.queue_id = place.queue_id and j.rank = -priority and j.id = new_id;
        perform pgdisque.api_tell_added(
            new_id, 1, place.queue_id, place.is_new, added_at, delay, settled.ttl, priority,
            group_bytes is not null);
    end if;
    return pgdisque.api_id(
        pgdisque.api_secret(), null, place.queue_id, (-priority)::smallint, new_id, ends, settled.retry);
end
$$;

-- Adds a job that waits for other jobs, or that belongs to a batch, or both. Returns its ID. on_fail: cancel or
-- continue. batch: the ID of a batch or of one of its jobs; this transaction then holds the batch until it ends.
create or replace function pgdisque.add_job_after(
    queue text, job text, after text[], on_fail text default 'cancel', batch text default null,
    delay integer default 0, retry integer default null, ttl integer default null, priority integer default 0,
    headers jsonb default null, attempts integer default null, backoff integer default null,
    deadqueue text default null, group_key text default null
) returns text
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select pgdisque.api_add_after(
        queue, convert_to(job, 'UTF8'), after, on_fail, batch, delay, retry, ttl, priority, headers, attempts, backoff,
        deadqueue, group_key)
$$;

create or replace function pgdisque.add_job_after(
    queue text, job bytea, after text[], on_fail text default 'cancel', batch text default null,
    delay integer default 0, retry integer default null, ttl integer default null, priority integer default 0,
    headers jsonb default null, attempts integer default null, backoff integer default null,
    deadqueue text default null, group_key text default null
) returns text
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select pgdisque.api_add_after(
        queue, job, after, on_fail, batch, delay, retry, ttl, priority, headers, attempts, backoff,
        deadqueue, group_key)
$$;

create or replace function pgdisque.add_job_after(
    queue text, job jsonb, after text[], on_fail text default 'cancel', batch text default null,
    delay integer default 0, retry integer default null, ttl integer default null, priority integer default 0,
    headers jsonb default null, attempts integer default null, backoff integer default null,
    deadqueue text default null, group_key text default null
) returns text
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select pgdisque.api_add_after(
        queue, convert_to(job::text, 'UTF8'), after, on_fail, batch, delay, retry, ttl, priority, headers, attempts,
        backoff, deadqueue, group_key)
$$;

-- Opens a batch, and returns its ID, which is also that of its completion job. complete and failure: the bodies of the
-- completion job and of the failure job, or null. parent: the outer batch.
create or replace function pgdisque.new_batch(
    queue text, complete text default null, failure text default null, parent text default null
) returns text
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    place record;
    settled record;
    new_id bigint;
    parent_id bigint;
    ends timestamptz;
begin
    perform pgdisque.api_require(queue, 'write');
    place := pgdisque.api_queue(convert_to(queue, 'UTF8'), true);
    settled := pgdisque.api_settle(queue, place.queue_id, 0, 0, null, 2147483647, null, null, null);
    if parent is not null then
        parent_id := pgdisque.api_open_batch(parent);
        if not {{may_nest(parent_id)}} then
            raise exception 'LIMIT batches are nested in at most 16 levels'
                using errcode = 'invalid_parameter_value';
        end if;
        update pgdisque.batch as b set total = b.total + 1 where b.id = parent_id;
    end if;
    new_id := pgdisque.api_new_id();
    ends := pgdisque.api_created_at(new_id) + settled.ttl * interval '1 second';
    insert into pgdisque.batch (id, failure_id, queue_id, retry, failure_body)
    values (new_id, pgdisque.api_new_id(), place.queue_id, settled.retry, convert_to(failure, 'UTF8'));
    insert into pgdisque.flow_job (id, batch_id, queue_id, rank, expires_at, retry)
    values (new_id, parent_id, place.queue_id, 0, ends, settled.retry);
    insert into pgdisque.waiting_job
        (id, expires_at, queue_id, retry, delay, pending, rank, replicate, is_batch, has_body, body)
    values
        (new_id, ends, place.queue_id, settled.retry, 0, 0, 0, 1, true, complete is not null,
         convert_to(coalesce(complete, ''), 'UTF8'));
    return pgdisque.api_id(pgdisque.api_secret(), null, place.queue_id, 0::smallint, new_id, ends, settled.retry);
end
$$;

-- Closes a batch: it completes when all its jobs have ended. False: it is unknown, complete, or was closed before.
create or replace function pgdisque.close_batch(batch text) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    permitted constant text[] := pgdisque.api_permitted(array[batch], 'read', 'write');
    closed_id bigint;
begin
    update pgdisque.batch as b
    set closed_at = clock_timestamp()
    where b.id = (
        select coalesce(o.id, f.batch_id)
        from pgdisque.api_keys(permitted) as k
        left join pgdisque.batch as o on o.id = k.id
        left join pgdisque.flow_job as f on f.id = k.id
    )
      and b.closed_at is null
    returning b.id into closed_id;
    return closed_id is not null;
end
$$;

-- The jobs that a job waits for or has waited for, with their results, in the order of their IDs: PREDECESSORS. Jobs of
-- queues on which the caller has no right are left out.
create or replace function pgdisque.predecessors(job_id text) returns table (id text, state text, result bytea)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    permitted constant text[] := pgdisque.api_permitted(array[job_id], 'read', 'write', 'list');
begin
    return query
    select
        pgdisque.api_id(pgdisque.api_secret(), n.id, f.queue_id, f.rank, f.id, f.expires_at, f.retry),
        case when f.ended_at is null then 'pending'
            else (array['done', 'dead', 'cancelled', 'expired'])[coalesce(f.outcome, 1)] end,
        f.result
    from pgdisque.api_keys(permitted) as k
    join pgdisque.dependency as d on d.successor_id = k.id
    join pgdisque.flow_job as f on f.id = d.predecessor_id
    left join pgdisque.queue as q on q.id = f.queue_id
    left join pgdisque.node as n on n.number = pgdisque.api_node(f.id)
    where exists (
        select from unnest(array['read', 'write', 'list']) as w (wanted) where pgdisque.api_may(q.name, w.wanted))
    order by f.id;
end
$$;
