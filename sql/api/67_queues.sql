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
        ('per-group', 0, 1), ('group-max-active', 0, 1000),
        ('group-rate', 0, 1000000), ('events', 0, 1), ('retention', 0, 2592000), ('expired', 0, 1),
        ('dead-retention', 0, 2147483647), ('rate-burst', 0, 1000000), ('group-rate-burst', 0, 1000000),
        ('server-max-active', 0, 1000000)
$$;

-- The text of a rate as QCONFIG GET shows it: 30, 30/m, 1/10s. period: in seconds.
create or replace function pgdisque.api_rate_text(count text, period integer) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
    select case
        when count = '0' or period = 1 then count
        else (
            select count || '/' || coalesce(nullif(period / u.seconds, 1)::text, '') || u.unit
            from (values ('d', 86400), ('h', 3600), ('m', 60), ('s', 1)) as u (unit, seconds)
            where period % u.seconds = 0
            order by u.seconds desc
            limit 1
        )
    end
$$;

-- The period of a rate in seconds: 60 of 30/m, 10 of 1/10s, 1 of 30. Null: the text has no such form.
create or replace function pgdisque.api_rate_period(rate text) returns integer
language sql immutable set search_path = pg_catalog, pg_temp as $$
    select case
        when rate ~ '^(0|[1-9][0-9]*)$' then 1
        else (
            select (coalesce(nullif(p.parts[1], ''), '1')::integer * case p.parts[2]
                when 'd' then 86400 when 'h' then 3600 when 'm' then 60 else 1
            end)
            from regexp_match(rate, '^[1-9][0-9]*/((?:[1-9][0-9]{0,4})?)([dhms])$') as p (parts)
            where p.parts is not null
        )
    end
$$;

-- The settings of a queue.
create or replace function pgdisque.qconfig(queue text) returns table (name text, value text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select
        s.name,
        coalesce(
            pgdisque.api_rate_text(
                convert_from(s.value, 'UTF8'),
                pgdisque.api_setting(s.queue_id, nullif(s.name, 'deadqueue') || '-period')),
            pgdisque.queue_name(s.value))
    from pgdisque.queue as q
    join pgdisque.queue_setting as s on s.queue_id = q.id
    where sha256(q.name) = sha256(convert_to(queue, 'UTF8'))
      and pgdisque.api_may(q.name, 'read')
      and s.name not in ('rate-period', 'group-rate-period')
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

-- Inserts the bucket of a queue with a rate, and fences it if older servers do not know that rate, as set_settings.sql.
create or replace function pgdisque.api_fence(queue_id integer) returns void
language sql volatile set search_path = pg_catalog, pg_temp as $$
    with rates as materialized (
        select api_fence.queue_id, {{needs_fence(s)}} as is_fenced
        from pgdisque.queue_setting as s
        where s.queue_id = api_fence.queue_id
        having bool_or(s.name = 'rate')
    ),
    {{make_buckets(rates)}}
    select
$$;

-- The error for a value out of range, as in settings.def.
create or replace function pgdisque.api_setting_error(name text, least_value bigint, most_value bigint) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
    select 'ERR ' || name || ' must be ' || case
        when name = 'maxlen' then 'a non negative number'
        when most_value = 1 then '0 or 1'
        else 'a number ' || case
            when name in ('retry', 'ttl', 'backoff', 'retention', 'dead-retention') then 'of seconds '
            else ''
        end || 'from ' || least_value || case
            when name = 'dead-retention' then ' (for ever)'
            when name in ('rate-burst', 'group-rate-burst') then ' (the default)'
            when name in ('attempts', 'max-active', 'group-max-active', 'server-max-active', 'rate', 'group-rate')
                then ' (no limit)'
            else ''
        end || ' to ' || most_value || case
            when name in ('rate', 'group-rate') then ', or with a period of up to a day, as 30/m or 1/10s'
            else ''
        end
    end
$$;

-- Stores a setting, as set_settings.sql. If two sessions would close a circle together, the lock on deadqueue_graph
-- makes the second wait and see the first.
create or replace function pgdisque.qconfig(queue text, name text, value text) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    known record;
    number bigint;
    period integer;
    place record;
begin
    select s.* into known from pgdisque.api_settings() as s where s.name = lower(qconfig.name);
    if known.name is null and lower(name) is distinct from 'deadqueue' then
        raise exception 'ERR Unknown setting. Try QCONFIG queue GET' using errcode = 'invalid_parameter_value';
    end if;
    if value is null then
        raise exception 'ERR value must not be null' using errcode = 'null_value_not_allowed';
    end if;
    if known.name is null and octet_length(value) > 65536 then
        raise exception 'ERR queue name is longer than 65536 bytes' using errcode = 'invalid_parameter_value';
    end if;
    if known.name = 'expired' then
        if lower(value) not in ('drop', 'dead') then
            raise exception 'ERR expired must be drop or dead' using errcode = 'invalid_parameter_value';
        end if;
        value := lower(value);
    elsif known.name is not null then
        if known.name in ('rate', 'group-rate') then
            period := pgdisque.api_rate_period(value);
            if period not between 1 and 86400 then
                period := null;
            end if;
            value := case when period is null then '' else split_part(value, '/', 1) end;
        end if;
        if value ~ '^(0|[1-9][0-9]{0,18})$' and value::numeric between known.least_value and known.most_value then
            number := value::bigint;
        else
            raise exception '%', pgdisque.api_setting_error(known.name, known.least_value, known.most_value)
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
    if period is not null then
        insert into pgdisque.queue_setting as s (queue_id, name, value)
        values (place.queue_id, known.name || '-period', convert_to(period::text, 'UTF8'))
        on conflict on constraint queue_setting_pkey do update set value = excluded.value;
    end if;
    if known.name in ('rate', 'rate-burst') then
        perform pgdisque.api_fence(place.queue_id);
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

drop function if exists pgdisque.revive(text, integer);
drop function if exists pgdisque.api_revive(pgdisque.dead_job[]);

-- Queues dead jobs again, with all their attempts, as revive_queue.sql. to_queue_id: another queue. each: the interval
-- between two jobs; null: all are ready at once. Returns their number.
create or replace function pgdisque.api_revive(dead pgdisque.dead_job[], to_queue_id integer, each interval)
returns integer
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    revived_at constant timestamptz := clock_timestamp();
    items text[];
    revived integer;
begin
    with back as (
        insert into pgdisque.job
            (id, ready_at, expires_at, wake_at, queue_id, retry, delay, nacks, additional_deliveries, rank,
             replicate, attempts, backoff, error, unique_key, body, in_flow, {{metadata_columns()}})
        select
            d.id, r.ready_at, e.expires_at, case when each is null then e.expires_at else r.ready_at end,
            coalesce(to_queue_id, d.queue_id), d.retry, d.delay, d.nacks, d.additional_deliveries + 1, d.rank,
            d.replicate, d.attempts, d.backoff, d.error, case when to_queue_id is null then d.unique_key end, d.body,
            {{is_in_flow(d)}}, {{metadata(d)}}
        from (
            select n.*, row_number() over (order by n.rank, n.id) - 1 as place
            from unnest(dead) as n
        ) as d
        cross join lateral (
            select revived_at + coalesce(d.place * each, interval '-1 second') as ready_at
        ) as r
        cross join lateral (
            select case
                when d.expires_at > greatest(r.ready_at, revived_at) then d.expires_at
                else greatest(r.ready_at, revived_at) + (d.expires_at - pgdisque.api_created_at(d.id))
            end as expires_at
        ) as e
        order by d.queue_id, d.rank, d.id
        -- Skips a job whose unique key another job has taken since then.
        on conflict do nothing
        returning queue_id, rank, id, expires_at, wake_at, retry, in_flow
    ),
    {{resume(back)}},
    gone as (
        delete from pgdisque.dead_job as d
        using unnest(dead) as n
        join back as b on b.rank = n.rank and b.id = n.id
        where d.queue_id = n.queue_id
          and d.rank = n.rank
          and d.id = n.id
        returning d.queue_id
    ),
    counted as (
        select b.queue_id, count(*) as count, case when each is null then count(*) else 0 end as ready,
            min(b.wake_at) as wake_at
        from back as b
        group by b.queue_id
    )
    select
        array(
            select i.item
            from counted as c
            cross join unnest(pgdisque.api_states(c.queue_id, c.count - c.ready, 0) || array[
                pgdisque.api_counted(c.queue_id, c.ready, c.count, c.ready, 0), 'd' || c.queue_id,
                't' || c.queue_id || ',' || pgdisque.api_us(c.wake_at)]) as i (item)
        ) || array(select distinct 'd' || g.queue_id from gone as g where to_queue_id is not null)
        || array(select pgdisque.api_item('k', b.queue_id, b.rank, b.id) from back as b where each is null),
        (select sum(c.count)::integer from counted as c)
    into items, revived;
    perform pgdisque.api_tell(items);
    return coalesce(revived, 0);
end
$$;

-- Checks the conditions that select dead jobs, as REVIVE and DELDEAD.
create or replace function pgdisque.api_refuse_filter(
    count integer, error text, older interval, newer interval, headers jsonb
) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    wrong constant text := case
        when count < 1 then 'ERR COUNT must be a number greater than zero'
        when octet_length(error) not between 1 and 8192 then 'ERR ERROR must have 1 to 8192 bytes'
        when extract(epoch from older) not between 0 and 2147483647
            or extract(epoch from newer) not between 0 and 2147483647
            then 'ERR OLDER and NEWER must be a number of seconds from 0 to 2147483647'
        when headers = '{}' then 'ERR headers must have a header, or be null'
    end;
begin
    if wrong is not null then
        raise exception '%', wrong using errcode = 'invalid_parameter_value';
    end if;
    perform pgdisque.api_refuse_headers(headers);
end
$$;

-- Locks the dead jobs of a queue that the conditions select, the oldest of the highest priority first.
create or replace function pgdisque.api_dead(
    queue_id integer, count integer, error text, older interval, newer interval, headers jsonb
) returns setof pgdisque.dead_job
language sql volatile set search_path = pg_catalog, pg_temp as $$
    select d.*
    from pgdisque.dead_job as d
    where d.queue_id = api_dead.queue_id
      and (api_dead.error is null or position(convert_to(api_dead.error, 'UTF8') in d.error) > 0)
      and (older is null or d.died_at <= clock_timestamp() - older)
      and (newer is null or d.died_at >= clock_timestamp() - newer)
      and (api_dead.headers is null or d.headers @> api_dead.headers)
    order by d.rank, d.id
    limit api_dead.count
    for update skip locked
$$;

-- Revive the dead jobs of a queue, at most count, the oldest of the highest priority first; or the jobs with these IDs.
-- error: a part of the last error. older, newer: the age since the death. headers: headers and values that the job has.
-- rate: jobs per second. to_queue: another queue.
create or replace function pgdisque.revive(
    queue text, count integer default null, error text default null, older interval default null,
    newer interval default null, headers jsonb default null, rate integer default null, to_queue text default null
) returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp set enable_seqscan = off set plan_cache_mode = force_generic_plan
set jit = off as $$
declare
    place constant record := pgdisque.api_queue(convert_to(queue, 'UTF8'), false);
    target record;
    target_id integer;
    wrong constant text := case
        when rate not between 1 and 1000000
            then 'ERR RATE must be a number of jobs per second from 1 to 1000000'
        when octet_length(to_queue) not between 1 and 65536
            then 'LIMIT the name of a queue must have 1 to 65536 bytes'
        when to_queue = queue then 'ERR TO must be another queue'
    end;
begin
    if wrong is not null then
        raise exception '%', wrong using errcode = 'invalid_parameter_value';
    end if;
    perform pgdisque.api_refuse_filter(count, error, older, newer, headers);
    perform pgdisque.api_require(queue, 'read', 'write');
    if to_queue is not null then
        perform pgdisque.api_require(to_queue, 'write');
        target := pgdisque.api_queue(convert_to(to_queue, 'UTF8'), true);
        perform pgdisque.api_refuse_paused(target.pause);
        target_id := target.queue_id;
        if target.is_new then
            perform pgdisque.api_tell(array['p' || target.queue_id]);
        end if;
    end if;
    return pgdisque.api_revive(
        array(select d from pgdisque.api_dead(place.queue_id, count, error, older, newer, headers) as d),
        target_id, interval '1 second' / rate);
end
$$;

-- Deletes dead jobs of a queue, which the same conditions select. Returns their number.
create or replace function pgdisque.delete_dead(
    queue text, count integer default null, error text default null, older interval default null,
    newer interval default null, headers jsonb default null
) returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp set enable_seqscan = off set plan_cache_mode = force_generic_plan
set jit = off as $$
declare
    place constant record := pgdisque.api_queue(convert_to(queue, 'UTF8'), false);
    deleted integer;
begin
    perform pgdisque.api_refuse_filter(count, error, older, newer, headers);
    perform pgdisque.api_require(queue, 'read', 'write');
    delete from pgdisque.dead_job as d
    using pgdisque.api_dead(
        place.queue_id, delete_dead.count, delete_dead.error, delete_dead.older, delete_dead.newer,
        delete_dead.headers) as f
    where d.queue_id = f.queue_id
      and d.rank = f.rank
      and d.id = f.id;
    get diagnostics deleted = row_count;
    if deleted > 0 then
        perform pgdisque.api_tell(array['d' || place.queue_id]);
    end if;
    return deleted;
end
$$;

-- Changes a dead job, as edit_dead.sql. Null: unchanged. attempts and backoff 0: none. Returns false if there is no
-- dead job with that ID.
create or replace function pgdisque.edit_dead(
    id text, job bytea default null, retry integer default null, attempts integer default null,
    backoff integer default null
) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp set enable_seqscan = off set plan_cache_mode = force_generic_plan
set jit = off as $$
declare
    wrong constant text := case
        when retry < 1 then 'ERR RETRY must be a number of seconds from 1 to 2147483647'
        when attempts < 0 then 'ERR ATTEMPTS must be a number from 0 (no limit) to 2147483647'
        when backoff not between 0 and 3600 then 'ERR BACKOFF must be a number of seconds from 0 to 3600'
        when octet_length(job) > 67108864 then 'ERR job is longer than 67108864 bytes'
    end;
    ids text[];
begin
    if wrong is not null then
        raise exception '%', wrong using errcode = 'invalid_parameter_value';
    end if;
    ids := pgdisque.api_permitted(array[id], 'read');
    update pgdisque.dead_job as d
    set body = coalesce(job, d.body),
        retry = coalesce(edit_dead.retry, d.retry),
        attempts = nullif(coalesce(edit_dead.attempts, d.attempts), 0),
        backoff = nullif(coalesce(edit_dead.backoff, d.backoff), 0)
    from pgdisque.api_keys(ids) as k
    where d.queue_id = any (array[k.queue_id])
      and d.rank = k.rank
      and d.id = k.id;
    return found;
end
$$;

create or replace function pgdisque.edit_dead(
    id text, job text, retry integer default null, attempts integer default null, backoff integer default null
) returns boolean
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select pgdisque.edit_dead(id, convert_to(job, 'UTF8'), retry, attempts, backoff)
$$;

create or replace function pgdisque.edit_dead(
    id text, job jsonb, retry integer default null, attempts integer default null, backoff integer default null
) returns boolean
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select pgdisque.edit_dead(id, convert_to(job::text, 'UTF8'), retry, attempts, backoff)
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
        for update of d), null, null);
end
$$;

-- Queues jobs at once that are leased or delayed, and revives dead jobs, as ENQUEUE. Returns their number.
create or replace function pgdisque.enqueue_jobs(ids text[]) returns integer
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select pgdisque.api_requeue(ids, false, null, null) + pgdisque.revive_jobs(ids)
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
          and ({{not_leased(j, changed_at)}} or j.wake_at = j.ready_at)
          and {{has_attempts(j)}}
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
        if job.in_flow then
            update pgdisque.flow_job as f set rank = job.rank, turn = f.turn + 1 where f.id = job.id;
        end if;
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
