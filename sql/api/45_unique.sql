-- Unique keys: adds that tell their outcome, and keys that are freed.

set local search_path = pg_catalog, pg_temp;

-- Gives the job another body, if it was not delivered, and another delay unless that is null or the job has a group.
-- False if the job was delivered. As add_unique.sql.
create or replace function pgdisque.api_replace(holder text, body bytea, delay integer) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
    replaced_at constant timestamptz := clock_timestamp();
    changed record;
begin
    with old as materialized (
        select
            j.queue_id, j.rank, j.id, j.wake_at is not distinct from j.ready_at as was_delayed,
            coalesce(api_replace.delay > 0 or (api_replace.delay = 0 and j.wake_at = j.ready_at), false)
                and j.group_key is null and j.ready_at < 'infinity' as is_moved,
            case
                when api_replace.delay > 0 then replaced_at + api_replace.delay * interval '1 second'
            end as next_at
        from pgdisque.api_keys(array[holder]) as k
        join pgdisque.job as j on j.queue_id = any (array[k.queue_id]) and j.rank = k.rank and j.id = k.id
        where j.expires_at > replaced_at
          and {{not_leased(j, replaced_at)}}
          and {{has_attempts(j)}}
        for update of j
    )
    update pgdisque.job as j
    set body = api_replace.body,
        delay = case when old.is_moved then api_replace.delay else j.delay end,
        ready_at = case
            when old.is_moved then coalesce(old.next_at, replaced_at - interval '1 second')
            else j.ready_at
        end,
        expires_at = case
            when old.is_moved and old.next_at is not null then {{revived_until(j, old.next_at)}}
            else j.expires_at
        end,
        wake_at = case when old.is_moved then coalesce(old.next_at, j.expires_at) else j.wake_at end,
        additional_deliveries = j.additional_deliveries
            + case when old.is_moved and j.owner is not null then 1 else 0 end,
        owner = case when not old.is_moved then j.owner end,
        slot = case when not old.is_moved then j.slot end
    from old
    where j.queue_id = any (array[old.queue_id])
      and j.rank = old.rank
      and j.id = old.id
    returning
        j.queue_id, j.rank, j.id, old.is_moved, old.next_at,
        (old.next_at is not null)::integer - old.was_delayed::integer as more_delayed
    into changed;
    if changed.is_moved then
        perform pgdisque.api_tell(
            pgdisque.api_states(changed.queue_id, changed.more_delayed, 0)
            || pgdisque.api_counted(
                changed.queue_id, -changed.more_delayed, 0, greatest(0, -changed.more_delayed), 0)
            || case
                when changed.next_at is null then pgdisque.api_item('k', changed.queue_id, changed.rank, changed.id)
                else 't' || changed.queue_id || ',' || pgdisque.api_us(changed.next_at)
            end);
    end if;
    return changed.id is not null;
end
$$;

-- Earlier versions had these functions without deadqueue. A call must find one function only.
drop function if exists
    pgdisque.add_unique_job(
        text, bytea, text, boolean, boolean, integer, integer, integer, integer, integer, integer, integer, jsonb),
    pgdisque.add_unique_job(
        text, text, text, boolean, boolean, integer, integer, integer, integer, integer, integer, integer, jsonb),
    pgdisque.add_unique_job(
        text, jsonb, text, boolean, boolean, integer, integer, integer, integer, integer, integer, integer, jsonb);

-- Adds a job unless another job of the queue has the key. outcome: added, existing or replaced. id: that of the job
-- that has the key. until_start: the key is free when the job is delivered for the first time. replace: an existing
-- job that was not delivered gets this body, and this delay unless it is null. It needs the right to read, too.
create or replace function pgdisque.add_unique_job(
    queue text, job bytea, unique_key text, until_start boolean default false, replace boolean default false,
    delay integer default null, retry integer default null, ttl integer default null, priority integer default 0,
    unique_for integer default null, attempts integer default null, backoff integer default null,
    headers jsonb default null, deadqueue text default null, group_key text default null, out id text,
    out outcome text
)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    place record;
    is_new boolean := false;
begin
    if unique_key is null then
        raise exception 'ERR unique_key must not be null' using errcode = 'null_value_not_allowed';
    end if;
    perform pgdisque.api_refuse_bodies(array[job]);
    perform pgdisque.api_refuse_unique(convert_to(unique_key, 'UTF8'), unique_for);
    perform pgdisque.api_require(queue, 'write');
    if replace then
        perform pgdisque.api_require(queue, 'read');
    end if;
    place := pgdisque.api_queue(convert_to(queue, 'UTF8'), true);
    perform pgdisque.api_refuse_paused(place.pause);
    id := pgdisque.api_take_key(place.queue_id, convert_to(unique_key, 'UTF8'), pgdisque.api_secret());
    if id is null then
        select a.id, a.is_new into id, is_new
        from pgdisque.api_add_jobs(
            queue, array[job], coalesce(delay, 0), retry, ttl, priority, true, attempts, backoff, deadqueue,
            group_key, unique_key, unique_for, headers) as a;
    end if;
    if is_new then
        outcome := 'added';
        if until_start then
            update pgdisque.job as j
            set unique_start = true
            from pgdisque.api_keys(array[add_unique_job.id]) as k
            where j.queue_id = k.queue_id
              and j.rank = k.rank
              and j.id = k.id;
        end if;
    else
        perform pgdisque.api_refuse(coalesce(delay, 0), retry, ttl, priority);
        outcome := case when replace and pgdisque.api_replace(id, job, delay) then 'replaced' else 'existing' end;
    end if;
end
$$;

create or replace function pgdisque.add_unique_job(
    queue text, job text, unique_key text, until_start boolean default false, replace boolean default false,
    delay integer default null, retry integer default null, ttl integer default null, priority integer default 0,
    unique_for integer default null, attempts integer default null, backoff integer default null,
    headers jsonb default null, deadqueue text default null, group_key text default null, out id text,
    out outcome text
)
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select a.id, a.outcome
    from pgdisque.add_unique_job(
        queue, convert_to(job, 'UTF8'), unique_key, until_start, replace, delay, retry, ttl, priority, unique_for,
        attempts, backoff, headers, deadqueue, group_key) as a
$$;

create or replace function pgdisque.add_unique_job(
    queue text, job jsonb, unique_key text, until_start boolean default false, replace boolean default false,
    delay integer default null, retry integer default null, ttl integer default null, priority integer default 0,
    unique_for integer default null, attempts integer default null, backoff integer default null,
    headers jsonb default null, deadqueue text default null, group_key text default null, out id text,
    out outcome text
)
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select a.id, a.outcome
    from pgdisque.add_unique_job(
        queue, convert_to(job::text, 'UTF8'), unique_key, until_start, replace, delay, retry, ttl, priority, unique_for,
        attempts, backoff, headers, deadqueue, group_key) as a
$$;

-- Frees a unique key. Its job stays. False if the key was free.
create or replace function pgdisque.unlock(queue text, unique_key text) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    place record;
    unlocked_at constant timestamptz := clock_timestamp();
    taken boolean;
begin
    perform pgdisque.api_require(queue, 'write');
    if unique_key is null then
        raise exception 'ERR unique_key must not be null' using errcode = 'null_value_not_allowed';
    end if;
    perform pgdisque.api_refuse_unique(convert_to(unique_key, 'UTF8'), null);
    place := pgdisque.api_queue(convert_to(queue, 'UTF8'), false);
    with freed as (
        update pgdisque.job as j
        set unique_key = null
        where j.queue_id = place.queue_id
          and j.unique_key = convert_to(unlock.unique_key, 'UTF8')
          and j.unique_key is not null
        returning {{key_is_free(j, unlocked_at)}} as was_free
    ),
    gone as (
        delete from pgdisque.unique_key as k
        where k.queue_id = place.queue_id
          and k.key = convert_to(unlock.unique_key, 'UTF8')
        returning k.until <= unlocked_at as was_free
    )
    select coalesce(bool_or(not u.was_free), false) into taken
    from (select f.was_free from freed as f union all select g.was_free from gone as g) as u;
    return taken;
end
$$;
