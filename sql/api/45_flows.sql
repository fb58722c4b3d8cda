-- Workflows and batches: jobs that wait for other jobs, and jobs that are counted together.

set local search_path = pg_catalog, pg_temp;

-- Earlier versions had these functions with fewer parameters. A call must find one function only.
drop function if exists
    pgdisque.add_job_after(text, text, text[], text, text, integer, integer, integer, integer, jsonb),
    pgdisque.add_job_after(text, bytea, text[], text, text, integer, integer, integer, integer, jsonb),
    pgdisque.add_job_after(text, jsonb, text[], text, text, integer, integer, integer, integer, jsonb),
    pgdisque.api_add_after(text, bytea, text[], text, text, integer, integer, integer, integer, jsonb),
    pgdisque.new_batch(text, text, text, text);

-- The number of a batch, by its ID or by that of one of its jobs, if the caller has one of the rights.
create or replace function pgdisque.api_named_batch(batch text, variadic wanted text[]) returns bigint
language sql stable set search_path = pg_catalog, pg_temp as $$
    select {{named_batch(k.id)}}
    from pgdisque.api_keys(pgdisque.api_permitted(array[batch], variadic wanted)) as k
$$;

-- As api_named_batch(). Locks the batch until the transaction ends.
create or replace function pgdisque.api_open_batch(batch text) returns bigint
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    named constant bigint := pgdisque.api_named_batch(batch, 'read', 'write');
    found_id bigint;
begin
    select b.id into found_id
    from pgdisque.batch as b
    where b.id = named
      and b.completed_at is null
      and not b.is_cancelled
    for no key update of b;
    if found_id is null then
        raise exception 'NOJOB BATCH names no batch that takes jobs: it is unknown, cancelled or complete'
            using errcode = 'invalid_parameter_value';
    end if;
    return found_id;
end
$$;

-- Gives predecessors their rows in flow_job, as add_in_flow.sql.
create or replace function pgdisque.api_enter_flow(predecessors text[]) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
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
          and not {{is_row_of_another(k)}}
        returning j.id, j.queue_id, j.rank, j.expires_at, j.retry, case when {{is_cancelled(j)}} then 3 end as outcome
    )
    insert into pgdisque.flow_job as f (id, queue_id, rank, expires_at, retry, outcome)
    select m.id, m.queue_id, m.rank, m.expires_at, m.retry, m.outcome
    from marked as m
    {{take_over_flow()}};
    -- The change of a dead letter tells a session that revives it of the new row.
    with died as (
        update pgdisque.dead_job as d
        set retry = d.retry
        from pgdisque.api_keys(predecessors) as k
        where d.queue_id = any (array[k.queue_id])
          and d.rank = k.rank
          and d.id = k.id
          and not exists (
            select
            from pgdisque.flow_job as f
            where f.id = any (array[d.id]) and f.queue_id = d.queue_id and f.rank = d.rank
          )
        returning d.id, d.queue_id, d.rank, d.expires_at, d.retry, d.error
    )
    insert into pgdisque.flow_job as f
        (id, queue_id, rank, expires_at, retry, outcome, result, ended_at, is_settled)
    select distinct on (e.id)
        e.id, e.queue_id, e.rank, e.expires_at, e.retry, e.outcome, e.result, clock_timestamp(), true
    from (
        select r.id, r.queue_id, r.rank, r.expires_at, r.retry, 1 as outcome, r.result
        from pgdisque.api_keys(predecessors) as k
        join pgdisque.retained as r on r.queue_id = k.queue_id and r.rank = k.rank and r.id = k.id
        where r.keep_until > clock_timestamp()
        union all
        select d.id, d.queue_id, d.rank, d.expires_at, d.retry, 2, d.error
        from died as d
    ) as e
    {{take_over_flow()}};
end
$$;

-- Gives predecessors their rows in flow_job, and locks these rows against the count of their ends. Another session may
-- end or revive a predecessor just now: the next try sees the effect.
create or replace function pgdisque.api_follow(predecessors text[]) returns bigint[]
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    wanted constant bigint := (select count(distinct p) from unnest(predecessors) as p);
    ids bigint[];
begin
    for try in 1..3 loop
        perform pgdisque.api_enter_flow(predecessors);
        select array_agg(f.id) into ids
        from (
            select g.id
            from pgdisque.flow_job as g
            where (g.id, g.queue_id, g.rank) in (
                select k.id, k.queue_id, k.rank
                from pgdisque.api_keys(predecessors) as k
            )
            for key share of g
        ) as f;
        if coalesce(cardinality(ids), 0) >= wanted then
            return ids;
        end if;
    end loop;
    raise exception 'NOJOB AFTER names a job that is unknown' using errcode = 'invalid_parameter_value';
end
$$;

-- As add_jobs_after().
create or replace function pgdisque.api_add_after(
    queue text, bodies bytea[], after text[], on_fail text, batch text, delay integer, retry integer, ttl integer,
    priority integer, headers jsonb, attempts integer, backoff integer, deadqueue text, group_key text
) returns setof text
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    secret constant bytea := pgdisque.api_secret();
    group_bytes constant bytea := convert_to(group_key, 'UTF8');
    added_at constant timestamptz := clock_timestamp();
    count constant bigint := coalesce(cardinality(bodies), 0);
    place record;
    settled record;
    predecessors bigint[];
    to_batch bigint;
    ids bigint[];
    ended boolean[];
    failed bigint;
    is_failure boolean;
begin
    if on_fail is null or on_fail not in ('cancel', 'continue', 'hold') then
        raise exception 'ERR on_fail must be cancel, continue or hold' using errcode = 'invalid_parameter_value';
    end if;
    if cardinality(after) > 1000 then
        raise exception 'LIMIT AFTER must be given once, with 1 to 1000 job IDs'
            using errcode = 'invalid_parameter_value';
    end if;
    perform pgdisque.api_refuse_bodies(bodies);
    perform pgdisque.api_require(queue, 'write');
    if deadqueue is not null then
        perform pgdisque.api_require(deadqueue, 'write');
    end if;
    perform pgdisque.api_refuse_headers(headers);
    perform pgdisque.api_refuse_group(group_bytes, delay);
    if cardinality(pgdisque.api_permitted(after, 'read', 'write')) < cardinality(after) then
        raise exception 'NOJOB AFTER names a job that is unknown' using errcode = 'invalid_parameter_value';
    end if;
    place := pgdisque.api_queue(convert_to(queue, 'UTF8'), true);
    perform pgdisque.api_refuse_paused(place.pause);
    settled := pgdisque.api_settle(
        queue, place.queue_id, delay, priority, retry, ttl, attempts, backoff, convert_to(deadqueue, 'UTF8'));
    predecessors := coalesce(pgdisque.api_follow(coalesce(after, '{}')), '{}');
    if batch is not null then
        to_batch := pgdisque.api_open_batch(batch);
        update pgdisque.batch as b set total = b.total + count where b.id = to_batch;
    end if;
    ids := array(select pgdisque.api_new_id() from generate_series(1, count) order by 1);
    -- A dead letter has not ended for a job that it holds.
    select
        array_agg(f.has_ended), array_agg(f.id), count(*) filter (where f.has_ended and f.outcome > 1),
        coalesce(bool_or(f.has_ended and (f.outcome in (2, 4) or f.after_failure)), false)
    into ended, predecessors, failed, is_failure
    from (
        select
            p.id, p.outcome, p.after_failure,
            p.ended_at is not null and not (
                on_fail = 'hold' and p.outcome > 1 and {{is_dead_letter(p)}}
            ) as has_ended
        from pgdisque.flow_job as p
        where p.id = any (predecessors)
    ) as f;
    insert into pgdisque.flow_job (id, batch_id, queue_id, rank, expires_at, retry)
    select
        n.id, to_batch, place.queue_id, -priority,
        pgdisque.api_created_at(n.id) + settled.ttl * interval '1 second', settled.retry
    from unnest(ids) as n (id);
    insert into pgdisque.dependency (predecessor_id, successor_id, is_counted, holds)
    select p.id, n.id, p.has_ended, on_fail = 'hold'
    from unnest(predecessors, ended) as p (id, has_ended)
    cross join unnest(ids) as n (id);
    if false = any (ended) or (failed > 0 and on_fail <> 'continue') then
        insert into pgdisque.waiting_job
            (id, expires_at, queue_id, retry, delay, pending, failed, attempts, backoff, rank, replicate, outcome,
             after_failure, continues, holds, body, group_key, deadqueue, headers)
        select
            n.id, pgdisque.api_created_at(n.id) + settled.ttl * interval '1 second', place.queue_id, settled.retry,
            delay, (select count(*) from unnest(ended) as e (has_ended) where not e.has_ended), failed,
            nullif(settled.attempts, 0), nullif(settled.backoff, 0), -priority, 1,
            case when failed > 0 and on_fail <> 'continue' then 3 end,
            failed > 0 and on_fail <> 'continue' and is_failure, on_fail = 'continue', on_fail = 'hold', n.body,
            group_bytes, settled.deadqueue, nullif(headers, '{}')
        from unnest(ids, bodies) as n (id, body);
    elsif count > 0 then
        perform pgdisque.api_insert(
            ids, bodies, place.queue_id, added_at, delay, settled.retry, settled.ttl, priority, settled.attempts,
            settled.backoff, settled.deadqueue, group_bytes, null, null, headers);
        update pgdisque.job as j
        set in_flow = true
        where j.queue_id = place.queue_id and j.rank = -priority and j.id = any (ids);
        perform pgdisque.api_tell_added(
            ids[1], count, place.queue_id, place.is_new, added_at, delay, settled.ttl, priority,
            group_key is not null);
    end if;
    return query
    select
        pgdisque.api_id(
            secret, null, place.queue_id, (-priority)::smallint, n.id,
            pgdisque.api_created_at(n.id) + settled.ttl * interval '1 second', settled.retry)
    from unnest(ids) with ordinality as n (id, at)
    order by n.at;
end
$$;

-- Adds a job that waits for other jobs, or that belongs to a batch, or both. Returns its ID. on_fail: cancel, continue
-- or hold. batch: the ID of a batch or of one of its jobs; this transaction then holds the batch until it ends.
create or replace function pgdisque.add_job_after(
    queue text, job text, after text[],
    {{after_options()}}
) returns text
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select pgdisque.api_add_after(
        queue, array[convert_to(job, 'UTF8')], after, on_fail, batch, delay, retry, ttl,
        priority, headers, attempts, backoff, deadqueue, group_key)
$$;

create or replace function pgdisque.add_job_after(
    queue text, job bytea, after text[],
    {{after_options()}}
) returns text
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select pgdisque.api_add_after(
        queue, array[job], after, on_fail, batch, delay, retry, ttl,
        priority, headers, attempts, backoff, deadqueue, group_key)
$$;

create or replace function pgdisque.add_job_after(
    queue text, job jsonb, after text[],
    {{after_options()}}
) returns text
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select pgdisque.api_add_after(
        queue, array[convert_to(job::text, 'UTF8')], after, on_fail, batch, delay, retry, ttl,
        priority, headers, attempts, backoff, deadqueue, group_key)
$$;

-- Adds several such jobs, which all wait for the same jobs. Returns their IDs, in the order of the jobs.
create or replace function pgdisque.add_jobs_after(
    queue text, jobs text[], after text[],
    {{after_options()}}
) returns setof text
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select pgdisque.api_add_after(
        queue, pgdisque.api_bodies(jobs), after, on_fail, batch, delay, retry, ttl,
        priority, headers, attempts, backoff, deadqueue, group_key)
$$;

create or replace function pgdisque.add_jobs_after(
    queue text, jobs bytea[], after text[],
    {{after_options()}}
) returns setof text
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select pgdisque.api_add_after(
        queue, jobs, after, on_fail, batch, delay, retry, ttl,
        priority, headers, attempts, backoff, deadqueue, group_key)
$$;

create or replace function pgdisque.add_jobs_after(
    queue text, jobs jsonb[], after text[],
    {{after_options()}}
) returns setof text
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select pgdisque.api_add_after(
        queue, pgdisque.api_bodies(jobs), after, on_fail, batch, delay, retry, ttl,
        priority, headers, attempts, backoff, deadqueue, group_key)
$$;

-- Opens a batch, and returns its ID, which is also that of its completion job. complete, failure and success: the
-- bodies of the completion job, the failure job and the success job, or null. parent: the outer batch. ttl: the seconds
-- after which an open batch is closed.
create or replace function pgdisque.new_batch(
    queue text, complete text default null, failure text default null, parent text default null,
    success text default null, ttl integer default 604800
) returns text
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    place record;
    settled record;
    -- The failure job has the smallest number, so that it is delivered before the others.
    failure_id constant bigint := pgdisque.api_new_id();
    new_id bigint;
    parent_id bigint;
    ends timestamptz;
begin
    if coalesce(ttl, 0) < 1 then
        raise exception 'ERR TTL must be a number > 0' using errcode = 'invalid_parameter_value';
    end if;
    perform pgdisque.api_refuse_bodies(
        array_remove(pgdisque.api_bodies(array[complete, failure, success]), null));
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
    insert into pgdisque.batch
        (id, failure_id, queue_id, retry, failure_body, success_id, success_body, closes_at)
    values
        (new_id, failure_id, place.queue_id, settled.retry, convert_to(failure, 'UTF8'),
         case when success is not null then pgdisque.api_new_id() end, convert_to(success, 'UTF8'),
         pgdisque.api_created_at(new_id) + new_batch.ttl * interval '1 second');
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
    named constant bigint := pgdisque.api_named_batch(batch, 'read', 'write');
    closed_id bigint;
begin
    update pgdisque.batch as b
    set closed_at = clock_timestamp()
    where b.id = named
      and b.closed_at is null
    returning b.id into closed_id;
    return closed_id is not null;
end
$$;

-- Closes a batch for good, and cancels its jobs and those of the batches in it, as BATCH CANCEL. Leaves out inner
-- batches and jobs that the caller has no right on. Returns the number of cancelled jobs.
create or replace function pgdisque.cancel_batch(batch text) returns integer
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    level bigint[] := array[pgdisque.api_named_batch(batch, 'read', 'write')];
    found_ids bigint[] := '{}';
    members text[];
begin
    -- Another session may add an inner batch while this one waits for the outer batch. So the update comes first.
    while cardinality(level) > 0 loop
        update pgdisque.batch as b
        set is_cancelled = true, closed_at = coalesce(b.closed_at, clock_timestamp())
        where b.id = any (level)
          and b.completed_at is null;
        found_ids := found_ids || level;
        level := array(
            select b.id
            from pgdisque.flow_job as f
            join pgdisque.batch as b on b.id = f.id
            join pgdisque.queue as q on q.id = f.queue_id
            where f.batch_id is not null
              and f.batch_id + 0 = any (level)
              and (pgdisque.api_may(q.name, 'read') or pgdisque.api_may(q.name, 'write')));
    end loop;
    members := array(
        select pgdisque.api_id(pgdisque.api_secret(), n.id, f.queue_id, f.rank, f.id, f.expires_at, f.retry)
        from pgdisque.flow_job as f
        left join pgdisque.node as n on n.number = pgdisque.api_node(f.id)
        where f.batch_id is not null
          and f.batch_id + 0 = any (found_ids)
          and f.id <> all (found_ids)
          and f.ended_at is null);
    return pgdisque.cancel_jobs(members);
end
$$;

-- The jobs of a batch that have not ended, or that ended within the last minute or are dead letters, in the order of
-- their IDs. The state is pending for a job that has not ended.
create or replace function pgdisque.batch_jobs(batch text)
returns table (id text, queue text, state text, result bytea)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    named constant bigint := pgdisque.api_named_batch(batch, 'read', 'write', 'list');
begin
    return query
    select
        pgdisque.api_id(pgdisque.api_secret(), n.id, f.queue_id, f.rank, f.id, f.expires_at, f.retry),
        pgdisque.queue_name(q.name),
        {{state_in_flow(f)}},
        f.result
    from pgdisque.flow_job as f
    join pgdisque.queue as q on q.id = f.queue_id
    left join pgdisque.node as n on n.number = pgdisque.api_node(f.id)
    where f.batch_id is not null
      and f.batch_id + 0 = named
      and pgdisque.api_may_any(q.name)
    order by f.id;
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
        {{state_in_flow(f)}},
        f.result
    from pgdisque.api_keys(permitted) as k
    join pgdisque.dependency as d on d.successor_id = k.id
    join pgdisque.flow_job as f on f.id = d.predecessor_id
    left join pgdisque.queue as q on q.id = f.queue_id
    left join pgdisque.node as n on n.number = pgdisque.api_node(f.id)
    where pgdisque.api_may_any(q.name)
    order by f.id;
end
$$;
