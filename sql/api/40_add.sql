-- Adding jobs.

set local search_path = pg_catalog, pg_temp;

-- Earlier versions had these functions, most without headers. A call must find one function only.
drop function if exists
    pgdisque.add_job(
        text, bytea, integer, integer, integer, integer, boolean, integer, integer, text, text, text, integer),
    pgdisque.add_job(
        text, text, integer, integer, integer, integer, boolean, integer, integer, text, text, text, integer),
    pgdisque.add_jobs(
        text, bytea[], integer, integer, integer, integer, boolean, integer, integer, text, text, text[], integer),
    pgdisque.add_jobs(
        text, text[], integer, integer, integer, integer, boolean, integer, integer, text, text, text[], integer),
    pgdisque.api_add_unique(
        text, bytea[], integer, integer, integer, integer, boolean, integer, integer, text, text, text[], integer),
    pgdisque.api_add(
        text, bytea[], integer, integer, integer, integer, boolean, integer, integer, text, text, text, integer),
    pgdisque.api_add(
        text, bytea[], integer, integer, integer, integer, boolean, integer, integer, text, text, text, integer,
        jsonb),
    pgdisque.api_insert(
        bigint[], bytea[], integer, timestamptz, integer, integer, integer, integer, integer, integer, bytea, bytea,
        bytea, timestamptz);

-- A setting of a queue, for jobs without the option: QCONFIG.
create or replace function pgdisque.api_setting(queue_id integer, name text) returns integer
language sql stable set search_path = pg_catalog, pg_temp as $$
    select least(2147483647, convert_from(s.value, 'UTF8')::bigint)::integer
    from pgdisque.queue_setting as s
    where s.queue_id = api_setting.queue_id
      and s.name = api_setting.name
$$;

create or replace function pgdisque.api_refuse(delay integer, retry integer, ttl integer, priority integer)
returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    wrong constant text := case
        when coalesce(delay, -1) < 0 then 'ERR DELAY time must be a non negative number'
        when retry < 0 then 'ERR RETRY time must be a non negative number'
        when ttl < 1 then 'ERR TTL must be a number > 0'
        when delay >= ttl
            then 'ERR The specified DELAY is greater than TTL. Job refused since would never be delivered'
        when coalesce(priority, -1) not between 0 and 255 then 'ERR PRIORITY must be between 0 and 255'
    end;
begin
    if wrong is not null then
        raise exception '%', wrong using errcode = 'invalid_parameter_value';
    end if;
end
$$;

-- Checks the options for attempts, back-off and the dead-letter queue, as add_options.c.
create or replace function pgdisque.api_refuse_attempts(
    queue bytea, retry integer, attempts integer, backoff integer, deadqueue bytea
) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    wrong constant text := case
        when attempts < 0 then 'ERR ATTEMPTS must be a number from 1 to 2147483647'
        when backoff not between 0 and 3600 then 'ERR BACKOFF must be a number of seconds from 0 to 3600'
        when retry = 0 and (attempts > 0 or backoff > 0 or deadqueue is not null)
            then 'ERR ATTEMPTS, BACKOFF and DEADQUEUE need a RETRY greater than 0: a job with RETRY 0 never comes back'
        when deadqueue is not null and attempts = 0
            then 'ERR DEADQUEUE needs ATTEMPTS: without a limit no job is ever dead'
        when length(deadqueue) > 65536 then 'ERR DEADQUEUE must be at most 65536 bytes long'
        when deadqueue = queue then 'ERR DEADQUEUE must be another queue than the job''s own'
    end;
begin
    if wrong is not null then
        raise exception '%', wrong using errcode = 'invalid_parameter_value';
    end if;
end
$$;

-- Replaces options that were not given by the settings of the queue, and checks all of them, as addjob_settle() and
-- addjob_conflict(). 0 and null mean none.
create or replace function pgdisque.api_settle(
    queue text, queue_id integer, delay integer, priority integer, inout retry integer, inout ttl integer,
    inout attempts integer, inout backoff integer, inout deadqueue bytea
)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    ttl := coalesce(ttl, pgdisque.api_setting(queue_id, 'ttl'), 86400);
    retry := coalesce(retry, pgdisque.api_setting(queue_id, 'retry'), greatest(1, least(300, ttl / 10)));
    perform pgdisque.api_refuse(delay, retry, ttl, priority);
    if retry > 0 then
        attempts := coalesce(attempts, pgdisque.api_setting(queue_id, 'attempts'));
        backoff := coalesce(backoff, pgdisque.api_setting(queue_id, 'backoff'));
        if attempts > 0 and deadqueue is null then
            select nullif(s.value, '') into deadqueue
            from pgdisque.queue_setting as s
            where s.queue_id = api_settle.queue_id
              and s.name = 'deadqueue';
        end if;
    end if;
    perform pgdisque.api_refuse_attempts(
        convert_to(queue, 'UTF8'), retry, coalesce(attempts, 0), coalesce(backoff, 0), deadqueue);
end
$$;

create or replace function pgdisque.api_refuse_bodies(bodies bytea[]) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    if array_position(bodies, null) is not null then
        raise exception 'ERR job must not be null' using errcode = 'null_value_not_allowed';
    end if;
    if (select max(octet_length(b)) from unnest(bodies) as b) > 67108864 then
        raise exception 'ERR job is longer than 67108864 bytes' using errcode = 'invalid_parameter_value';
    end if;
end
$$;

create or replace function pgdisque.api_refuse_group(group_key bytea, delay integer) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    wrong constant text := case
        when length(group_key) not between 1 and 512 then 'ERR GROUP key must have 1 to 512 bytes'
        when group_key is not null and delay > 0
            then 'ERR GROUP and DELAY exclude each other: a job of a group comes when those before it have gone'
    end;
begin
    if wrong is not null then
        raise exception '%', wrong using errcode = 'invalid_parameter_value';
    end if;
end
$$;

-- Checks headers as headers.c.
create or replace function pgdisque.api_refuse_headers(headers jsonb) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    wrong text := case
        when jsonb_typeof(headers) <> 'object' then 'ERR headers must be an object of strings'
    end;
begin
    if wrong is null then
        select case
            when bool_or(jsonb_typeof(h.value) <> 'string') then 'ERR headers must be an object of strings'
            when count(*) > 32 then 'LIMIT a job has at most 32 headers'
            when bool_or(octet_length(h.key) not between 1 and 128)
                then 'ERR the name of a header must have 1 to 128 bytes'
            when sum(octet_length(h.key) + octet_length(h.value #>> '{}')) > 8192
                then 'LIMIT the headers of a job have at most 8192 bytes'
        end into wrong
        from jsonb_each(headers) as h;
    end if;
    if wrong is not null then
        raise exception '%', wrong using errcode = 'invalid_parameter_value';
    end if;
end
$$;

-- Inserts jobs that differ only in ids and bodies. Jobs of a group wait for their release. A job whose unique key
-- another session has taken is not inserted.
create or replace function pgdisque.api_insert(
    ids bigint[], bodies bytea[], queue_id integer, added_at timestamptz, delay integer, retry integer, ttl integer,
    priority integer, attempts integer, backoff integer, deadqueue bytea, group_key bytea, unique_key bytea,
    unique_until timestamptz, headers jsonb
) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
    if unique_key is null then
        {{insert_sql_jobs()}};
    else
        {{insert_sql_jobs()}}
        on conflict do nothing;
    end if;
end
$$;

create or replace function pgdisque.api_tell_added(
    first_id bigint, count bigint, queue_id integer, is_new boolean, added_at timestamptz, delay integer, ttl integer,
    priority integer, is_grouped boolean
) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
    perform pgdisque.api_tell(
        case when is_new then array['p' || queue_id] else '{}' end
        || case
            when delay > 0 then
                array['t' || queue_id || ',' || pgdisque.api_us(added_at + delay * interval '1 second')]
            when priority > 0 or ttl <> 86400 then
                array['t' || queue_id || ','
                    || pgdisque.api_us(pgdisque.api_created_at(first_id) + ttl * interval '1 second')]
            else '{}'
        end
        || case
            when is_grouped then pgdisque.api_states(queue_id, 0, count) || array[
                pgdisque.api_counted(queue_id, 0, count, 0, 0),
                pgdisque.api_item('m', queue_id, (-priority)::smallint, first_id)]
            when delay > 0 then
                pgdisque.api_states(queue_id, count, 0) || pgdisque.api_counted(queue_id, 0, count, 0, 0)
            else array[
                pgdisque.api_counted(queue_id, count, count, count, 0),
                pgdisque.api_item('a', queue_id, (-priority)::smallint, first_id, count)]
        end);
end
$$;

create or replace function pgdisque.api_refuse_unique(unique_key bytea, unique_for integer) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    wrong constant text := case
        when length(unique_key) not between 1 and 512 then 'ERR UNIQUE key must have 1 to 512 bytes'
        when unique_for < 1 then 'ERR FOR must be a number of seconds from 1 to 2147483647'
        when unique_for is not null and unique_key is null then 'ERR FOR needs UNIQUE'
    end;
begin
    if wrong is not null then
        raise exception '%', wrong using errcode = 'invalid_parameter_value';
    end if;
end
$$;

-- Takes a unique key until the transaction ends. Returns the ID of the job that has it, or null if the key is
-- free or null. Other SQL sessions wait for the key. Servers do not wait, they try again (add_unique.sql takes the
-- same lock).
create or replace function pgdisque.api_take_key(queue_id integer, unique_key bytea, secret bytea) returns text
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    taken_at timestamptz;
    holder text;
begin
    if unique_key is null then
        return null;
    end if;
    perform pg_advisory_xact_lock(7713, hashtext(encode(unique_key, 'hex') || queue_id));
    taken_at := clock_timestamp();
    update pgdisque.job as j
    set unique_key = null
    where j.queue_id = api_take_key.queue_id
      and j.unique_key = api_take_key.unique_key
      and j.unique_key is not null
      and {{key_is_free(j, taken_at)}};
    select pgdisque.api_id(secret, n.id, h.queue_id, h.rank, h.id, h.expires_at, h.retry) into holder
    from (
        select j.queue_id, j.rank, j.id, j.expires_at, j.retry
        from pgdisque.job as j
        where j.queue_id = api_take_key.queue_id
          and j.unique_key = api_take_key.unique_key
          and j.unique_key is not null
        union all
        select k.queue_id, k.rank, k.id, k.expires_at, k.retry
        from pgdisque.unique_key as k
        where k.queue_id = api_take_key.queue_id
          and k.key = api_take_key.unique_key
          and k.until > taken_at
        limit 1
    ) as h
    left join pgdisque.node as n on n.number = pgdisque.api_node(h.id);
    return holder;
end
$$;

-- Adds jobs that differ only in their bodies. Returns their IDs, in the order of the bodies. If another job has the
-- unique key, returns that one, which is not new.
create or replace function pgdisque.api_add_jobs(
    queue text, bodies bytea[], delay integer, retry integer, ttl integer, priority integer, wake boolean,
    attempts integer, backoff integer, deadqueue text, group_key text, unique_key text, unique_for integer,
    headers jsonb
) returns table (id text, is_new boolean)
language plpgsql volatile
set search_path = pg_catalog, pg_temp as $$
declare
    secret constant bytea := pgdisque.api_secret();
    group_bytes constant bytea := convert_to(group_key, 'UTF8');
    added_at constant timestamptz := clock_timestamp();
    place record;
    settled record;
    key constant bytea := convert_to(unique_key, 'UTF8');
    key_until constant timestamptz := added_at + unique_for * interval '1 second';
    ids bigint[];
begin
    perform pgdisque.api_refuse_unique(key, unique_for);
    perform pgdisque.api_refuse_bodies(bodies);
    perform pgdisque.api_refuse(delay, retry, ttl, priority);
    perform pgdisque.api_refuse_group(group_bytes, delay);
    perform pgdisque.api_refuse_headers(headers);
    perform pgdisque.api_require(queue, 'write');
    if coalesce(cardinality(bodies), 0) = 0 then
        return;
    end if;
    if deadqueue is not null then
        perform pgdisque.api_require(deadqueue, 'write');
    end if;
    place := pgdisque.api_queue(convert_to(queue, 'UTF8'), true);
    perform pgdisque.api_refuse_paused(place.pause);
    settled := pgdisque.api_settle(
        queue, place.queue_id, delay, priority, retry, ttl, attempts, backoff, convert_to(deadqueue, 'UTF8'));
    retry := settled.retry;
    ttl := settled.ttl;
    -- A session that revives a job takes its key without the lock. The insert then waits for that session.
    for try in 1..5 loop
        id := pgdisque.api_take_key(place.queue_id, key, secret);
        if id is not null then
            is_new := false;
            return next;
            return;
        end if;
        ids := array(select pgdisque.api_new_id() from generate_series(1, cardinality(bodies)) order by 1);
        perform pgdisque.api_insert(
            ids, bodies, place.queue_id, added_at, delay, retry, ttl, priority, settled.attempts, settled.backoff,
            settled.deadqueue, group_bytes, key, key_until, headers);
        exit when key is null or exists (
            select
            from pgdisque.job as j
            where j.queue_id = place.queue_id
              and j.rank = -priority
              and j.id = ids[1]);
        if try = 5 then
            raise exception 'ERR other sessions take the unique key all the time' using errcode = 'lock_not_available';
        end if;
    end loop;
    if key_until is not null then
        insert into pgdisque.unique_key as k (id, expires_at, until, queue_id, retry, rank, key)
        values (
            ids[1], pgdisque.api_created_at(ids[1]) + ttl * interval '1 second', key_until, place.queue_id, retry,
            -priority, key)
        on conflict on constraint unique_key_pkey do update
        set id = excluded.id, expires_at = excluded.expires_at, until = excluded.until, retry = excluded.retry,
            rank = excluded.rank;
    end if;
    if coalesce(wake, true) then
        perform pgdisque.api_tell_added(
            ids[1], cardinality(ids), place.queue_id, place.is_new, added_at, delay, ttl, priority,
            group_bytes is not null);
    end if;
    return query
    select pgdisque.api_id(
        secret, null, place.queue_id, (-priority)::smallint, a.id,
        pgdisque.api_created_at(a.id) + ttl * interval '1 second', retry), true
    from unnest(ids) with ordinality as a (id, ordinal)
    order by a.ordinal;
end
$$;

-- Adds jobs with a unique key each, or with none where the key is null. Returns their IDs, in the order of the
-- bodies. All sessions take keys in the same order, so that sessions with the same keys cannot deadlock.
create or replace function pgdisque.api_add_unique(
    queue text, bodies bytea[], delay integer, retry integer, ttl integer, priority integer, wake boolean,
    attempts integer, backoff integer, deadqueue text, group_key text, unique_keys text[], unique_for integer,
    headers jsonb
) returns setof text
language plpgsql volatile
set search_path = pg_catalog, pg_temp as $$
begin
    if unique_keys is null then
        return query select a.id from pgdisque.api_add_jobs(
            queue, bodies, delay, retry, ttl, priority, wake, attempts, backoff, deadqueue, group_key, null,
            unique_for, headers) as a;
        return;
    end if;
    if cardinality(unique_keys) <> coalesce(cardinality(bodies), 0) then
        raise exception 'ERR unique_keys must have as many elements as jobs' using errcode = 'invalid_parameter_value';
    end if;
    perform pg_advisory_xact_lock(7713, k.hash)
    from (
        select distinct hashtext(encode(convert_to(u.key, 'UTF8'), 'hex') || q.id) as hash
        from unnest(unique_keys) as u (key)
        cross join pgdisque.queue as q
        where u.key is not null
          and sha256(q.name) = sha256(convert_to(queue, 'UTF8'))
        order by hash
    ) as k;
    return query
    select a.id
    from unnest(bodies, unique_keys) with ordinality as n (body, key, at)
    cross join lateral pgdisque.api_add_jobs(
        queue, array[n.body], delay, retry, ttl, priority, wake, attempts, backoff, deadqueue, group_key, n.key,
        case when n.key is not null then unique_for end, headers) as a
    order by n.at;
end
$$;

-- The bytes of bodies, in their order.
create or replace function pgdisque.api_bodies(bodies text[]) returns bytea[]
language sql stable set search_path = pg_catalog, pg_temp as $$
    select array(select convert_to(b.body, 'UTF8') from unnest(bodies) with ordinality as b (body, at) order by b.at)
$$;

create or replace function pgdisque.api_bodies(bodies jsonb[]) returns bytea[]
language sql stable set search_path = pg_catalog, pg_temp as $$
    select pgdisque.api_bodies(bodies::text[])
$$;

-- Adds a job, or several jobs, and returns the IDs. unique_key: while a job with that key exists in the queue,
-- or for unique_for seconds, no job is added and the ID of that job is returned. unique_keys: a key per job, or
-- null. wake false: servers are informed by wake() only, and this transaction does not take the lock of NOTIFY.
-- headers: an object of strings.
create or replace function pgdisque.add_job(
    queue text, job bytea, delay integer default 0, retry integer default null, ttl integer default null,
    priority integer default 0, wake boolean default true, attempts integer default null,
    backoff integer default null, deadqueue text default null, group_key text default null,
    unique_key text default null, unique_for integer default null,
    headers jsonb default null
) returns text
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select a.id from pgdisque.api_add_jobs(
        queue, array[job], delay, retry, ttl, priority, wake, attempts, backoff, deadqueue, group_key, unique_key,
        unique_for, headers) as a
$$;

create or replace function pgdisque.add_job(
    queue text, job text, delay integer default 0, retry integer default null, ttl integer default null,
    priority integer default 0, wake boolean default true, attempts integer default null,
    backoff integer default null, deadqueue text default null, group_key text default null,
    unique_key text default null, unique_for integer default null,
    headers jsonb default null
) returns text
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select a.id from pgdisque.api_add_jobs(
        queue, array[convert_to(job, 'UTF8')], delay, retry, ttl, priority, wake, attempts, backoff, deadqueue,
        group_key, unique_key, unique_for, headers) as a
$$;

create or replace function pgdisque.add_job(
    queue text, job jsonb, delay integer default 0, retry integer default null, ttl integer default null,
    priority integer default 0, wake boolean default true, attempts integer default null,
    backoff integer default null, deadqueue text default null, group_key text default null,
    unique_key text default null, unique_for integer default null,
    headers jsonb default null
) returns text
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select a.id from pgdisque.api_add_jobs(
        queue, array[convert_to(job::text, 'UTF8')], delay, retry, ttl, priority, wake, attempts, backoff, deadqueue,
        group_key, unique_key, unique_for, headers) as a
$$;

create or replace function pgdisque.add_jobs(
    queue text, jobs bytea[], delay integer default 0, retry integer default null, ttl integer default null,
    priority integer default 0, wake boolean default true, attempts integer default null,
    backoff integer default null, deadqueue text default null, group_key text default null,
    unique_keys text[] default null, unique_for integer default null,
    headers jsonb default null
) returns setof text
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select pgdisque.api_add_unique(
        queue, jobs, delay, retry, ttl, priority, wake, attempts, backoff, deadqueue, group_key, unique_keys,
        unique_for, headers)
$$;

create or replace function pgdisque.add_jobs(
    queue text, jobs text[], delay integer default 0, retry integer default null, ttl integer default null,
    priority integer default 0, wake boolean default true, attempts integer default null,
    backoff integer default null, deadqueue text default null, group_key text default null,
    unique_keys text[] default null, unique_for integer default null,
    headers jsonb default null
) returns setof text
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select pgdisque.api_add_unique(
        queue, pgdisque.api_bodies(jobs), delay, retry, ttl, priority, wake, attempts, backoff, deadqueue, group_key,
        unique_keys, unique_for, headers)
$$;

create or replace function pgdisque.add_jobs(
    queue text, jobs jsonb[], delay integer default 0, retry integer default null, ttl integer default null,
    priority integer default 0, wake boolean default true, attempts integer default null,
    backoff integer default null, deadqueue text default null, group_key text default null,
    unique_keys text[] default null, unique_for integer default null,
    headers jsonb default null
) returns setof text
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select pgdisque.api_add_unique(
        queue, pgdisque.api_bodies(jobs), delay, retry, ttl, priority, wake, attempts, backoff, deadqueue, group_key,
        unique_keys, unique_for, headers)
$$;

-- Informs the servers about queues to which jobs were added with wake => false. Call it after their commit.
create or replace function pgdisque.wake(queues text[]) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform pgdisque.api_require(w.name, 'write') from unnest(queues) as w (name);
    perform pgdisque.api_tell(array(
        select 'v' || q.id
        from unnest(queues) as w (name)
        join pgdisque.queue as q on sha256(q.name) = sha256(convert_to(w.name, 'UTF8'))));
end
$$;
