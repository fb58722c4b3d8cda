-- Queues and waiting jobs, for operators: PAUSE, QCONFIG, REVIVE and REPRIORITIZE.

set local search_path = pg_catalog, pg_temp;

-- Pauses a queue: none, in, out or all. Without a state the pause is unchanged. Returns the state.
create or replace function pgdisque.pause(queue text, state text default null) returns text
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    states constant text[] := '{none,in,out,all}';
    flags constant integer := array_position(states, lower(state)) - 1;
    place record;
begin
    if state is not null and flags is null then
        raise exception 'ERR PAUSE takes none, in, out or all' using errcode = 'invalid_parameter_value';
    end if;
    perform pgdisque.api_require(queue, 'read', 'write');
    place := pgdisque.api_queue(convert_to(queue, 'UTF8'), coalesce(flags, 0) > 0);
    if flags is null or place.queue_id is null then
        return states[coalesce(place.pause, 0) + 1];
    end if;
    update pgdisque.queue as q set pause = flags where q.id = place.queue_id;
    perform pgdisque.api_tell(array['p' || place.queue_id]);
    return states[flags + 1];
end
$$;

-- The settings of queues. Their minimum and maximum are as in settings.def.
create or replace function pgdisque.api_settings()
returns table (name text, least_value bigint, most_value bigint)
language sql immutable set search_path = pg_catalog, pg_temp as $$
    values
        ('retry', 0::bigint, 2147483647::bigint), ('ttl', 1, 2147483647), ('maxlen', 0, 9223372036854775807),
        ('attempts', 0, 2147483647), ('backoff', 0, 3600), ('max-active', 0, 1000), ('rate', 0, 1000000),
        ('per-group', 0, 1), ('events', 0, 1), ('retention', 0, 2592000)
$$;

-- The settings of a queue.
create or replace function pgdisque.qconfig(queue text) returns table (name text, value text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select s.name, pgdisque.queue_name(s.value)
    from pgdisque.queue as q
    join pgdisque.queue_setting as s on s.queue_id = q.id
    where sha256(q.name) = sha256(convert_to(queue, 'UTF8'))
      and pgdisque.api_may(q.name, 'read')
    order by s.name
$$;

-- Does the chain of dead-letter queues that begins at deadqueue lead to the queue?
create or replace function pgdisque.api_leads_to(deadqueue bytea, queue_id integer) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
    with recursive chain as (
        select q.id
        from pgdisque.queue as q
        where sha256(q.name) = sha256(deadqueue)
        union
        select q.id
        from chain as c
        join pgdisque.queue_setting as s on s.queue_id = c.id and s.name = 'deadqueue'
        join pgdisque.queue as q on sha256(q.name) = sha256(s.value)
    )
    select exists (select from chain as c where c.id = api_leads_to.queue_id)
$$;

-- Stores a setting, as set_settings.sql. If two sessions would close a circle together, the lock on deadqueue_graph
-- makes the second wait and see the first.
create or replace function pgdisque.qconfig(queue text, name text, value text) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    known record;
    number bigint;
    place record;
begin
    select s.* into known from pgdisque.api_settings() as s where s.name = lower(qconfig.name);
    if known.name is null and lower(name) is distinct from 'deadqueue' then
        raise exception 'ERR Unknown setting: %', quote_nullable(name) using errcode = 'invalid_parameter_value';
    end if;
    if value is null or queue is null then
        raise exception 'ERR queue and value must not be null' using errcode = 'null_value_not_allowed';
    end if;
    if known.name is not null then
        if value ~ '^(0|[1-9][0-9]{0,18})$' and value::numeric between known.least_value and known.most_value then
            number := value::bigint;
        else
            raise exception 'ERR % must be a number from % to %', known.name, known.least_value, known.most_value
                using errcode = 'invalid_parameter_value';
        end if;
    end if;
    perform pgdisque.api_require(queue, 'read', 'write');
    if known.name is null and value <> '' then
        perform pgdisque.api_require(value, 'write');
    end if;
    place := pgdisque.api_queue(convert_to(queue, 'UTF8'), true);
    if known.name is null then
        update pgdisque.deadqueue_graph as d set version = d.version + 1;
        if pgdisque.api_leads_to(convert_to(value, 'UTF8'), place.queue_id) then
            raise exception 'ERR deadqueue would lead back to this queue' using errcode = 'invalid_parameter_value';
        end if;
    end if;
    insert into pgdisque.queue_setting as s (queue_id, name, value)
    values (place.queue_id, lower(qconfig.name), convert_to(qconfig.value, 'UTF8'))
    on conflict on constraint queue_setting_pkey do update set value = excluded.value;
    if known.name = 'rate' then
        insert into pgdisque.bucket (queue_id) values (place.queue_id) on conflict do nothing;
    elsif known.name = 'max-active' then
        insert into pgdisque.slot (queue_id, n)
        select place.queue_id, n from generate_series(1, number) as n
        on conflict do nothing;
    end if;
    perform pgdisque.api_tell(array['p' || place.queue_id]);
end
$$;

-- Removes all settings of a queue.
create or replace function pgdisque.qconfig_reset(queue text) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    place constant record := pgdisque.api_queue(convert_to(queue, 'UTF8'), false);
begin
    perform pgdisque.api_require(queue, 'read', 'write');
    delete from pgdisque.queue_setting as s where s.queue_id = place.queue_id;
    if found then
        perform pgdisque.api_tell(array['p' || place.queue_id]);
    end if;
end
$$;

-- Queues dead jobs again, with all their attempts, as revive_jobs.sql. Returns their number.
create or replace function pgdisque.api_revive(dead pgdisque.dead_job[]) returns integer
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    revived_at constant timestamptz := clock_timestamp();
    items text[];
    revived integer;
begin
    with back as (
        insert into pgdisque.job
            (id, ready_at, expires_at, wake_at, queue_id, retry, delay, nacks, additional_deliveries, rank,
             replicate, attempts, backoff, error, unique_key, body)
        select
            d.id, revived_at - interval '1 second', e.expires_at, e.expires_at, d.queue_id, d.retry, d.delay, d.nacks,
            d.additional_deliveries + 1, d.rank, d.replicate, d.attempts, d.backoff, d.error, d.unique_key, d.body
        from unnest(dead) as d
        cross join lateral (
            select case
                when d.expires_at > revived_at then d.expires_at
                else revived_at + (d.expires_at - pgdisque.api_created_at(d.id))
            end as expires_at
        ) as e
        order by d.queue_id, d.rank, d.id
        -- Skips a job whose unique key another job has taken since then.
        on conflict do nothing
        returning queue_id, rank, id, expires_at
    ),
    gone as (
        delete from pgdisque.dead_job as d
        using back as b
        where d.queue_id = b.queue_id
          and d.rank = b.rank
          and d.id = b.id
    ),
    counted as (
        select b.queue_id, count(*) as count, min(b.expires_at) as expires_at
        from back as b
        group by b.queue_id
    )
    select
        array(
            select i.item
            from counted as c
            cross join unnest(array[
                pgdisque.api_counted(c.queue_id, c.count, c.count, c.count, 0), 'd' || c.queue_id,
                't' || c.queue_id || ',' || pgdisque.api_us(c.expires_at)]) as i (item)
        ) || array(select pgdisque.api_item('k', b.queue_id, b.rank, b.id) from back as b),
        (select sum(c.count)::integer from counted as c)
    into items, revived;
    perform pgdisque.api_tell(items);
    return coalesce(revived, 0);
end
$$;

-- Revive the dead jobs of a queue, at most count, the oldest of the highest priority first; or the jobs with
-- these IDs.
create or replace function pgdisque.revive(queue text, count integer default null) returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp set enable_seqscan = off set plan_cache_mode = force_generic_plan
set jit = off as $$
declare
    place constant record := pgdisque.api_queue(convert_to(queue, 'UTF8'), false);
begin
    perform pgdisque.api_require(queue, 'read', 'write');
    return pgdisque.api_revive(array(
        select d
        from pgdisque.dead_job as d
        where d.queue_id = place.queue_id
        order by d.rank, d.id
        limit revive.count
        for update skip locked));
end
$$;

create or replace function pgdisque.revive_jobs(ids text[]) returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp set enable_seqscan = off set plan_cache_mode = force_generic_plan
set jit = off as $$
begin
    ids := pgdisque.api_permitted(ids, 'read');
    return pgdisque.api_revive(array(
        select d
        from pgdisque.api_keys(ids) as k
        join pgdisque.dead_job as d on d.queue_id = any (array[k.queue_id]) and d.rank = k.rank and d.id = k.id
        for update of d));
end
$$;

-- Gives waiting jobs another priority, which is part of their IDs, as rerank_jobs.sql. Returns their new IDs.
create or replace function pgdisque.reprioritize(ids text[], priority integer)
returns table (old_id text, new_id text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp set enable_seqscan = off set plan_cache_mode = force_generic_plan
set jit = off as $$
declare
    changed_at constant timestamptz := clock_timestamp();
    secret constant bytea := pgdisque.api_secret();
    key record;
    job pgdisque.job;
    items text[] := '{}';
begin
    if coalesce(priority, -1) not between 0 and 255 then
        raise exception 'ERR PRIORITY must be between 0 and 255' using errcode = 'invalid_parameter_value';
    end if;
    ids := pgdisque.api_permitted(ids, 'read');
    for key in
        select k.queue_id, k.rank, k.id, min(k.ordinal) as ordinal
        from pgdisque.api_keys(ids) as k
        where k.rank <> -priority
        group by k.queue_id, k.rank, k.id
        order by k.queue_id, k.rank, k.id
    loop
        delete from pgdisque.job as j
        where j.queue_id = key.queue_id
          and j.rank = key.rank
          and j.id = key.id
          and j.expires_at > changed_at
          and (j.ready_at <= changed_at or j.wake_at = j.ready_at or j.owner is null)
          and (j.deliveries >= j.attempts) is not true
          and j.group_key is null
        returning j.* into job;
        continue when not found;
        job.rank := -priority;
        -- The job no longer expires in the order of ids, so it needs a wake_at.
        job.wake_at := coalesce(job.wake_at, job.expires_at);
        insert into pgdisque.job select job.*;
        update pgdisque.unique_key as u
        set rank = job.rank
        where u.queue_id = job.queue_id
          and u.key = job.unique_key
          and u.id = job.id;
        items := items || ('t' || job.queue_id || ',' || pgdisque.api_us(job.wake_at));
        if job.wake_at is distinct from job.ready_at then
            items := items || pgdisque.api_item('k', job.queue_id, job.rank, job.id);
        end if;
        old_id := ids[key.ordinal];
        new_id := pgdisque.api_id(
            secret, (select n.id from pgdisque.node as n where n.number = pgdisque.api_node(job.id)),
            job.queue_id, job.rank, job.id, job.expires_at, job.retry);
        return next;
    end loop;
    perform pgdisque.api_tell(items);
end
$$;
