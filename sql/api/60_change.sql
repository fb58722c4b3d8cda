-- Changes of taken jobs: queue them again, extend their leases, acknowledge them (65_finish.sql).

set local search_path = pg_catalog, pg_temp;

-- Informs the servers about jobs that were changed at a time, from their rows before the change: ended leases,
-- and changes of counters. what: 'gone', 'again' (queued again or delayed), or 'leased' (a new lease). An
-- exhausted job is not queued again: the server that watches its lease moves it to the dead letters.
create or replace function pgdisque.api_tell_changed(jobs pgdisque.changed_job[], what text, at timestamptz)
returns integer
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
    perform pgdisque.api_tell(
        array(
            select pgdisque.api_item(
                case what when 'gone' then 'x' else 'l' end, j.queue_id, j.rank, j.id, pgdisque.api_us(j.ready_at))
            from unnest(jobs) as j
            where {{is_leased(j, at)}} and j.ready_at < 'infinity'
        )
        || array(
            select pgdisque.api_counted(j.queue_id,
                case what
                    when 'again' then count(*) filter (where not j.last and j.next_at is null)
                    else -count(*) filter (
                        where j.ready_at <= at and j.wake_at is distinct from j.ready_at and not j.last)
                end,
                case what when 'gone' then -count(*) else 0 end,
                case what when 'again' then count(*) filter (where not j.last and j.next_at is null) else 0 end, 0)
            from unnest(jobs) as j
            group by j.queue_id
        )
        || array(
            select s.item
            from (
                select
                    j.queue_id,
                    -count(*) filter (where {{is_delayed(j)}})
                        + count(*) filter (where what = 'again' and not j.last and j.next_at is not null) as delayed,
                    -count(*) filter (where {{waits_in_group(j)}}) as waiting
                from unnest(jobs) as j
                group by j.queue_id
            ) as n
            cross join unnest(pgdisque.api_states(n.queue_id, n.delayed, n.waiting)) as s (item)
        )
        || array(
            select case
                when what = 'leased' or j.last then pgdisque.api_leased(
                    j.queue_id, j.rank, j.id, coalesce(j.next_at, at), j.last)
                when j.next_at is null then pgdisque.api_item('k', j.queue_id, j.rank, j.id)
                else 't' || j.queue_id || ',' || pgdisque.api_us(j.next_at)
            end
            from unnest(jobs) as j
            where what <> 'gone'
        ));
    if what = 'again' then
        -- Sets the scan position of this session back, so that it finds the jobs.
        perform pgdisque.api_set_cursor(j.queue_id, j.rank, j.id - 1, c.full_at)
        from (select distinct on (queue_id) * from unnest(jobs) order by queue_id, rank, id) as j
        cross join lateral pgdisque.api_cursor(j.queue_id) as c
        where (j.rank, j.id) <= (c.rank, c.id);
    end if;
    return coalesce(cardinality(jobs), 0);
end
$$;

-- Queues jobs again that are leased or delayed, as requeue_jobs.sql. Returns their number.
create or replace function pgdisque.api_requeue(ids text[], is_nack boolean, delay integer, error text)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
    changed_at constant timestamptz := clock_timestamp();
    jobs pgdisque.changed_job[];
begin
    ids := pgdisque.api_permitted(ids, 'read');
    with old as materialized (
        select
            j.queue_id, j.rank, j.id, j.ready_at, j.wake_at, j.owner, j.retry,
            coalesce({{is_exhausted(j)}} and is_nack, false) as last,
            case when is_nack then {{delayed_until(j, api_requeue.delay, changed_at)}} end as next_at
        from pgdisque.api_keys(ids) as k
        join pgdisque.job as j on j.queue_id = any (array[k.queue_id]) and j.rank = k.rank and j.id = k.id
        where (j.ready_at > changed_at or (not is_nack and {{is_exhausted(j)}}))
          and j.expires_at > changed_at
          and (j.retry > 0 or j.owner is null or {{is_cancelled(j)}})
          and not (not is_nack and {{is_cancelled(j)}})
          and k.token in (0, pgdisque.api_token(j.nacks, j.additional_deliveries))
          and {{not_grouped(j)}}
        for update of j
    ),
    changed as (
        update pgdisque.job as j
        set ready_at = coalesce(old.next_at, changed_at - interval '1 second'),
            wake_at = coalesce(old.next_at, {{wake_at_end(j)}}),
            deliveries = case when not is_nack and j.attempts is not null then 0 else j.deliveries end,
            nacks = j.nacks + is_nack::integer,
            additional_deliveries = j.additional_deliveries + (not is_nack and j.owner is not null)::integer,
            error = coalesce(convert_to(api_requeue.error, 'UTF8'), j.error),
            errors = case
                when api_requeue.error is null then j.errors
                else {{last_errors(j.errors)}} || jsonb_build_object(
                    'at', floor(1000 * extract(epoch from changed_at))::bigint, 'attempt', j.deliveries,
                    'error', left(api_requeue.error, 1024))
            end,
            owner = null,
            slot = null,
            worker = null
        from old
        where j.queue_id = any (array[old.queue_id])
          and j.rank = old.rank
          and j.id = old.id
        returning row(old.*)::pgdisque.changed_job as job
    )
    select array_agg(c.job) into jobs from changed as c;
    return pgdisque.api_tell_changed(jobs, 'again', changed_at);
end
$$;

-- Queues jobs again that are leased or delayed, and counts a NACK. Returns their number. delay: seconds,
-- instead of the back-off. error: shown in the views. Jobs with retry 0 are at most once, and are not queued
-- again. ID:token as for ack_jobs.
create or replace function pgdisque.nack_jobs(ids text[], delay integer default null, error text default null)
returns integer
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
    if delay < 0 then
        raise exception 'ERR DELAY must be a number of seconds from 0 to 2147483647'
            using errcode = 'invalid_parameter_value';
    end if;
    if octet_length(error) > 8192 then
        raise exception 'ERR ERROR is longer than 8192 bytes' using errcode = 'invalid_parameter_value';
    end if;
    return pgdisque.api_requeue(ids, true, delay, error);
end
$$;

-- The function of earlier versions has no progress.
drop function if exists pgdisque.working(text[], text, integer);

-- Extends the leases of jobs by their retry times, or by the given seconds. Returns the number of jobs. Skips
-- jobs with retry 0. An ID without a token skips jobs with less than half of their time to live left. In a
-- queue with max-active a job needs a slot, as in working_limited.sql. A job without a free slot is unchanged.
-- The slots stay locked until the transaction ends. progress and text: how much of the jobs is done, in percent, and
-- what the worker does.
create or replace function pgdisque.working(
    ids text[], worker text default null, seconds integer default null, progress integer default null,
    text text default null
) returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
    changed_at constant timestamptz := clock_timestamp();
    jobs pgdisque.changed_job[];
    noted constant jsonb := case
        when progress is not null then jsonb_strip_nulls(jsonb_build_object(
            'at', floor(1000 * extract(epoch from changed_at))::bigint, 'percent', progress, 'text', text))
    end;
begin
    if seconds < 1 then
        raise exception 'ERR WORKING takes a number of seconds from 1 to 2147483647'
            using errcode = 'invalid_parameter_value';
    end if;
    if progress not between 0 and 100 or octet_length(text) > 512 or (text is not null and progress is null) then
        raise exception 'ERR PROGRESS must be a number from 0 to 100, and TEXT, which needs it, at most 512 bytes'
            using errcode = 'invalid_parameter_value';
    end if;
    perform pgdisque.api_require_worker(worker);
    ids := pgdisque.api_permitted(ids, 'read');
    with old as materialized (
        select
            j.queue_id, j.rank, j.id, j.ready_at, j.wake_at, j.owner, j.retry, j.slot, k.token,
            coalesce({{is_exhausted(j)}}, false) as last,
            changed_at + interval '1 second' * (
                {{working_seconds(j, working.seconds, k.token, changed_at)}}
                + {{lease_wait(j, j.deliveries)}}
            ) as next_at
        from pgdisque.api_keys(ids) as k
        join pgdisque.job as j on j.queue_id = any (array[k.queue_id]) and j.rank = k.rank and j.id = k.id
        where j.expires_at > changed_at
          and j.ready_at < 'infinity'
          and j.retry > 0
          and k.token in (0, pgdisque.api_token(j.nacks, j.additional_deliveries))
          and not {{is_cancelled(j)}}
          and not ({{working_too_late(j, pgdisque.api_created_at(j.id), k.token, changed_at)}})
        for update of j
    ),
    needing as materialized (
        select
            o.queue_id, o.rank, o.id, l.most,
            dense_rank() over (partition by o.queue_id order by o.rank, o.id) as place
        from old as o
        cross join lateral (select pgdisque.api_most_active(o.queue_id) as most) as l
        where l.most > 0
          and (o.slot is null or (o.slot > l.most and o.ready_at <= changed_at))
    ),
    free as materialized (
        select d.queue_id, pgdisque.api_free_slots(d.queue_id, d.most, d.jobs::integer) as slots
        from (
            select n.queue_id, n.most, max(n.place) as jobs
            from needing as n
            group by n.queue_id, n.most
        ) as d
    ),
    given as materialized (
        select distinct n.queue_id, n.rank, n.id, f.slots[n.place::integer] as slot
        from needing as n
        join free as f on f.queue_id = n.queue_id
    ),
    filled as (
        update pgdisque.slot as s
        set rank = g.rank, id = g.id, turn = s.turn + 1
        from given as g
        where s.queue_id = g.queue_id
          and s.n = g.slot
    ),
    changed as (
        update pgdisque.job as j
        set ready_at = old.next_at,
            leased_at = case when j.backoff is not null or working.seconds is not null then changed_at end,
            wake_at = {{wake_at_end(j)}},
            additional_deliveries = j.additional_deliveries
                + case
                    when old.ready_at <= changed_at and j.owner is not null and not old.last and old.token = 0 then 1
                    else 0
                end,
            owner = 0,
            slot = coalesce(g.slot, j.slot),
            progress = coalesce(noted, j.progress),
            worker = coalesce(working.worker, j.worker, session_user || ' ' || pg_backend_pid())
        from old
        left join given as g on g.queue_id = old.queue_id and g.rank = old.rank and g.id = old.id
        where j.queue_id = any (array[old.queue_id])
          and j.rank = old.rank
          and j.id = old.id
          and (g.id is null or g.slot is not null)
        returning row(
            old.queue_id, old.rank, old.id, old.ready_at, old.wake_at, old.owner, old.retry, old.last,
            old.next_at)::pgdisque.changed_job as job
    )
    select array_agg(c.job) into jobs from changed as c;
    return pgdisque.api_tell_changed(jobs, 'leased', changed_at);
end
$$;

-- Queues all jobs of a worker again, or of all workers of a node, as far as the caller may read their queues. SQL
-- sessions are node 0. Reads all jobs.
create or replace function pgdisque.api_release(node integer, worker text) returns integer
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    changed_at constant timestamptz := clock_timestamp();
    jobs pgdisque.changed_job[];
    everything constant boolean := pgdisque.api_may_all('read');
begin
    with old as materialized (
        select
            j.queue_id, j.rank, j.id, j.ready_at, j.wake_at, j.owner, j.retry,
            coalesce({{is_exhausted(j)}}, false) as last, null::timestamptz as next_at
        from pgdisque.job as j
        where j.owner is not null
          and (api_release.node is null or j.owner = api_release.node)
          and (api_release.worker is null or j.worker = api_release.worker)
          and j.ready_at > changed_at
          and j.expires_at > changed_at
          and j.retry > 0
          and (everything or j.queue_id in (select pgdisque.api_readable()))
        order by j.queue_id, j.rank, j.id
        for update of j skip locked
    ),
    changed as (
        update pgdisque.job as j
        set ready_at = changed_at - interval '1 second',
            additional_deliveries = j.additional_deliveries + 1,
            owner = null,
            slot = null,
            worker = null
        from old
        where j.queue_id = old.queue_id
          and j.rank = old.rank
          and j.id = old.id
        returning row(old.*)::pgdisque.changed_job as job
    )
    select array_agg(c.job) into jobs from changed as c;
    return pgdisque.api_tell_changed(jobs, 'again', changed_at);
end
$$;

-- Queue again all jobs that a worker, or all clients of a server, have taken, except jobs with retry 0. Return
-- the number of jobs.
create or replace function pgdisque.release_worker(worker text) returns integer
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select case when worker is null then 0 else pgdisque.api_release(null, worker) end
$$;

create or replace function pgdisque.release_node(node integer) returns integer
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select case when node is null then 0 else pgdisque.api_release(node, null) end
$$;
