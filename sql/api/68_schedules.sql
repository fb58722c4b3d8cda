-- Schedules: SCHEDULE and UNSCHEDULE. The grammar of cron expressions is that of cron_expr.c.

set local search_path = pg_catalog, pg_temp;

-- Reads a number or a name of a field. Returns null if it is wrong.
create or replace function pgdisque.api_cron_value(word text, least_value integer, most_value integer, names text[])
returns integer
language sql immutable set search_path = pg_catalog, pg_temp as $$
    select v.value
    from (
        select coalesce(
            array_position(names, word) - 1 + least_value,
            case when word ~ '^[0-9]' then word::integer end) as value
    ) as v
    where v.value between least_value and most_value
$$;

-- Reads a field: a list of values and ranges, with or without steps. Returns its values, or null if it is wrong.
create or replace function pgdisque.api_cron_field(
    field text, least_value integer, most_value integer, names text[]
) returns integer[]
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    item text;
    parts text[];
    low integer;
    high integer;
    found integer[] := '{}';
begin
    foreach item in array string_to_array(field, ',') loop
        parts := regexp_match(
            item, '^(?:[*?]|([0-9]{1,4}|[a-z]{3})(?:-([0-9]{1,4}|[a-z]{3}))?)(?:/([0-9]{1,4}))?$');
        if parts is null or parts[3]::integer = 0 then
            return null;
        end if;
        low := least_value;
        high := most_value;
        if parts[1] is not null then
            low := pgdisque.api_cron_value(parts[1], least_value, most_value, names);
            if parts[2] is not null then
                high := pgdisque.api_cron_value(parts[2], least_value, most_value, names);
            elsif parts[3] is null then
                high := low;
            end if;
        end if;
        if (low <= high) is not true then
            return null;
        end if;
        found := found || array(select generate_series(low, high, coalesce(parts[3]::integer, 1)));
    end loop;
    return found;
end
$$;

-- The error in fields: 5, or 6 with seconds first. Null: there is none.
create or replace function pgdisque.api_cron_fields_error(words text[]) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    fields constant text[] := '{second,minute,hour,day of month,month,day of week}';
    months constant text[] := '{jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec}';
    weekdays constant text[] := '{sun,mon,tue,wed,thu,fri,sat}';
    found integer[];
    days integer[];
    in_months integer[];
begin
    if cardinality(words) = 5 then
        words := array['0'] || words;
    end if;
    if cardinality(words) <> 6 then
        return '5 fields are needed, or 6 with seconds first';
    end if;
    for i in 1..6 loop
        found := pgdisque.api_cron_field(
            lower(words[i] collate "C"), ('{0,0,0,1,1,0}'::integer[])[i], ('{59,59,23,31,12,7}'::integer[])[i],
            case i when 5 then months when 6 then weekdays end);
        if found is null then
            return format('the field %s is wrong: ''%s''', fields[i], words[i]);
        end if;
        days := case when i = 4 then found else days end;
        in_months := case when i = 5 then found else in_months end;
    end loop;
    if (words[4] ~ '^[*?]' or words[6] ~ '^[*?]') and not exists (
        select
        from unnest(in_months) as m (month)
        cross join unnest(days) as d (day)
        where d.day <= case when m.month = 2 then 29 when m.month in (4, 6, 9, 11) then 30 else 31 end
    ) then
        return format('the field day of month is wrong: there is no such day in month: ''%s''', words[5]);
    end if;
    return null;
end
$$;

-- The error in a cron expression, as cron_parse(). Null: there is none. Like cron_parse() it does not check that the
-- time zone exists.
create or replace function pgdisque.api_cron_error(cron text) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    words text[] := array_remove(string_to_array(cron, ' '), '');
    rest text := ltrim(cron, ' ');
    zone text;
begin
    if octet_length(cron) > 250 or cron collate "C" !~ '^[ -~]*$' then
        return 'it is no text of at most 250 characters';
    end if;
    if lower(split_part(words[1], '=', 1) collate "C") in ('tz', 'cron_tz') then
        zone := substr(words[1], length(split_part(words[1], '=', 1)) + 1);
        if length(zone) not between 2 and 64 then
            return format('there is no such time zone: ''%s''', zone);
        end if;
        rest := ltrim(substr(rest, length(words[1]) + 1), ' ');
        words := words[2:];
    end if;
    if rest !~ '^@' then
        return pgdisque.api_cron_fields_error(words);
    end if;
    if lower(words[1] collate "C") = '@every' then
        if cardinality(words) = 2 and words[2] ~ '^([0-9]{1,9}[smhd])+$' and (
            select sum(
                p.part[1]::bigint * case p.part[2] when 's' then 1 when 'm' then 60 when 'h' then 3600 else 86400 end
            )
            from regexp_matches(words[2], '([0-9]+)(.)', 'g') as p (part)
        ) between 1 and 3660 * 86400::bigint then
            return null;
        end if;
        return format('@every takes a time such as 30s, 5m, 1h30m or 2d: ''%s''', words[2]);
    end if;
    if cardinality(words) = 1 and lower(words[1] collate "C") in (
        '@hourly', '@daily', '@midnight', '@weekly', '@monthly', '@yearly', '@annually'
    ) then
        return null;
    end if;
    return format('there is no such shorthand: ''%s''', rest);
end
$$;

create or replace function pgdisque.api_refuse_schedule(
    name text, cron text, queue text, job bytea, maxlen bigint, missed text
) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    zone constant text := (regexp_match(cron, '^ *(?:cron_)?tz=([^ ]*)', 'i'))[1];
    wrong text := pgdisque.api_cron_error(cron);
begin
    -- Postgres would also take abbreviations and other spellings, which servers do not know.
    if wrong is null and zone is not null
        and not exists (select from pg_timezone_names as z where z.name = zone) then
        wrong := format('this system knows no time zone ''%s''', zone);
    end if;
    wrong := case
        when name is null or cron is null or queue is null or job is null
            then 'ERR name, cron, queue and job must not be null'
        when wrong is not null then 'ERR bad cron: ' || wrong
        when octet_length(name) > 65536 or octet_length(queue) > 65536
            then 'ERR the name of a schedule or a queue is longer than 65536 bytes'
        when name = '' then 'ERR the name of the schedule is empty'
        when queue = '' then 'ERR the name of the queue is empty'
        when octet_length(job) > 67108864 then 'ERR job is longer than 67108864 bytes'
        when maxlen < 1 then 'ERR MAXLEN must be a positive number'
        when lower(missed) in ('skip', 'once', 'all') is not true then 'ERR MISSED must be skip, once or all'
    end;
    if wrong is not null then
        raise exception '%', wrong using errcode = 'invalid_parameter_value';
    end if;
end
$$;

-- Earlier versions had these functions without headers, or without until_start. A call must find one function only.
drop function if exists
    pgdisque.schedule(
        text, text, text, bytea, integer, integer, integer, integer, integer, integer, text, bigint, text),
    pgdisque.schedule(
        text, text, text, text, integer, integer, integer, integer, integer, integer, text, bigint, text),
    pgdisque.schedule(
        text, text, text, bytea, integer, integer, integer, integer, integer, integer, text, bigint, text, jsonb, text,
        text, text),
    pgdisque.schedule(
        text, text, text, text, integer, integer, integer, integer, integer, integer, text, bigint, text, jsonb, text,
        text, text),
    pgdisque.schedule(
        text, text, text, jsonb, integer, integer, integer, integer, integer, integer, text, bigint, text, jsonb, text,
        text, text);

-- Adds a schedule, or replaces the schedule of that name, as put_schedule.sql. A server computes the first tick.
create or replace function pgdisque.schedule(
    name text, cron text, queue text, job bytea, delay integer default 0, retry integer default null,
    ttl integer default null, priority integer default 0, attempts integer default null,
    backoff integer default null, deadqueue text default null, maxlen bigint default null,
    missed text default 'once', headers jsonb default null, unique_key text default null,
    group_key text default null, overlap text default 'queue', until_start boolean default false
) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    place record;
    settled record;
begin
    perform pgdisque.api_refuse_schedule(name, cron, queue, job, maxlen, missed);
    perform pgdisque.api_refuse(delay, retry, ttl, priority);
    perform pgdisque.api_refuse_headers(headers);
    perform pgdisque.api_refuse_unique(convert_to(unique_key, 'UTF8'), null);
    perform pgdisque.api_refuse_group(convert_to(group_key, 'UTF8'), delay);
    if (lower(overlap) in ('queue', 'skip', 'replace')) is not true then
        raise exception 'ERR OVERLAP must be queue, skip or replace' using errcode = 'invalid_parameter_value';
    end if;
    if until_start and unique_key is null then
        raise exception 'ERR UNTIL and REPLACE need UNIQUE' using errcode = 'invalid_parameter_value';
    end if;
    perform pgdisque.api_require(queue, 'write');
    if lower(overlap) = 'replace' then
        perform pgdisque.api_require(queue, 'read');
    end if;
    if deadqueue is not null then
        perform pgdisque.api_require(deadqueue, 'write');
    end if;
    place := pgdisque.api_queue(convert_to(queue, 'UTF8'), false);
    settled := pgdisque.api_settle(
        queue, place.queue_id, delay, priority, retry, ttl, attempts, backoff, convert_to(deadqueue, 'UTF8'));
    insert into pgdisque.schedule as s
        (name, cron, queue, body, missed, retry, ttl, delay, maxlen, priority, next_at, has_tick, attempts, backoff,
         deadqueue, headers, unique_key, group_key, overlap, unique_start)
    values (
        convert_to(schedule.name, 'UTF8'), schedule.cron, convert_to(schedule.queue, 'UTF8'), job,
        array_position('{skip,once,all}', lower(schedule.missed)) - 1, settled.retry, settled.ttl, schedule.delay,
        coalesce(schedule.maxlen, nullif(pgdisque.api_setting(place.queue_id, 'maxlen'), 0)), schedule.priority,
        date_trunc('second', clock_timestamp()), false, nullif(settled.attempts, 0), nullif(settled.backoff, 0),
        settled.deadqueue, nullif(schedule.headers, '{}'), convert_to(schedule.unique_key, 'UTF8'),
        convert_to(schedule.group_key, 'UTF8'),
        nullif(array_position('{queue,skip,replace}', lower(schedule.overlap)) - 1, 0),
        nullif(schedule.until_start, false)
    )
    on conflict (sha256(name)) do update
    set has_tick = s.has_tick and s.cron = excluded.cron,
        {{replace_schedule(s)}}
    where pgdisque.api_may(s.queue, 'write');
    if not found then
        raise exception 'NOPERM No permissions to access a queue' using errcode = 'insufficient_privilege';
    end if;
    perform pgdisque.api_tell(array['s']);
end
$$;

create or replace function pgdisque.schedule(
    name text, cron text, queue text, job text, delay integer default 0, retry integer default null,
    ttl integer default null, priority integer default 0, attempts integer default null,
    backoff integer default null, deadqueue text default null, maxlen bigint default null,
    missed text default 'once', headers jsonb default null, unique_key text default null,
    group_key text default null, overlap text default 'queue', until_start boolean default false
) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select pgdisque.schedule(
        name, cron, queue, convert_to(job, 'UTF8'), delay, retry, ttl, priority, attempts, backoff, deadqueue, maxlen,
        missed, headers, unique_key, group_key, overlap, until_start)
$$;

create or replace function pgdisque.schedule(
    name text, cron text, queue text, job jsonb, delay integer default 0, retry integer default null,
    ttl integer default null, priority integer default 0, attempts integer default null,
    backoff integer default null, deadqueue text default null, maxlen bigint default null,
    missed text default 'once', headers jsonb default null, unique_key text default null,
    group_key text default null, overlap text default 'queue', until_start boolean default false
) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select pgdisque.schedule(
        name, cron, queue, convert_to(job::text, 'UTF8'), delay, retry, ttl, priority, attempts, backoff, deadqueue,
        maxlen, missed, headers, unique_key, group_key, overlap, until_start)
$$;

-- Adds the job of a schedule now, as RUNSCHEDULE. Returns its ID, or null if there is no schedule with that name.
create or replace function pgdisque.run_schedule(name text) returns text
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    s constant pgdisque.schedule := (
        select t from pgdisque.schedule as t where sha256(t.name) = sha256(convert_to(run_schedule.name, 'UTF8')));
    ran_at constant timestamptz := clock_timestamp();
begin
    if s.id is null or not pgdisque.api_may(s.queue, 'write') then
        return null;
    end if;
    if s.unique_start then
        return id
        from pgdisque.add_unique_job(
            pgdisque.queue_name(s.queue), s.body, pgdisque.queue_name(s.unique_key), true, false, s.delay, s.retry,
            s.ttl, s.priority, null, coalesce(s.attempts, 0), coalesce(s.backoff, 0),
            {{tick_header(s.headers, ran_at)}}, pgdisque.queue_name(s.deadqueue), pgdisque.queue_name(s.group_key));
    end if;
    return a.id
    from pgdisque.api_add_jobs(
        pgdisque.queue_name(s.queue), array[s.body], s.delay, s.retry, s.ttl, s.priority, true, coalesce(s.attempts, 0),
        coalesce(s.backoff, 0), pgdisque.queue_name(s.deadqueue), pgdisque.queue_name(s.group_key),
        pgdisque.queue_name(s.unique_key), null, {{tick_header(s.headers, ran_at)}}) as a;
end
$$;

-- Ends a schedule. Returns false if there is no schedule with that name.
create or replace function pgdisque.unschedule(name text) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
    delete from pgdisque.schedule as s
    where sha256(s.name) = sha256(convert_to(unschedule.name, 'UTF8'))
      and pgdisque.api_may(s.queue, 'write');
    if found then
        perform pgdisque.api_tell(array['s']);
        return true;
    end if;
    return false;
end
$$;
