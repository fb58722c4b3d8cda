-- Functions about the state of jobs and batches: job, wait_jobs and batch.

set local search_path = pg_catalog, pg_temp;

-- Finds a job by its primary key. A condition on the id of the view would make an ID for each job first.
create or replace function pgdisque.job(id text) returns setof pgdisque.jobs
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    key record;
begin
    select k.* into key from pgdisque.api_keys(pgdisque.api_permitted(array[id], 'read', 'list')) as k;
    return query
    select j.*
    from pgdisque.jobs as j
    where j.queue_id = key.queue_id
      and j.rank = key.rank
      and j.number = key.id;
end
$$;

-- The end of a job that is kept: done with its result, or dead with its last error.
create or replace function pgdisque.api_end(queue_id integer, rank smallint, id bigint)
returns table (state text, result bytea)
language sql stable set search_path = pg_catalog, pg_temp as $$
    select 'done', f.result
    from pgdisque.retained as f
    where f.queue_id = api_end.queue_id
      and f.rank = api_end.rank
      and f.id = api_end.id
      and f.keep_until > clock_timestamp()
    union all
    select 'dead', d.error
    from pgdisque.dead_job as d
    where d.queue_id = api_end.queue_id
      and d.rank = api_end.rank
      and d.id = api_end.id
    limit 1
$$;

-- Waits for the ends of jobs, as WAITJOB does. Returns those that have ended, in the order of the IDs: done with the
-- result, dead with the last error, or gone. any_job: the first end is enough. The function polls, and the transaction
-- stays open, so the time is a minute at most.
create or replace function pgdisque.wait_jobs(
    ids text[], timeout_ms integer default 10000, any_job boolean default false
) returns table (id text, state text, result bytea)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    deadline constant timestamptz := clock_timestamp() + timeout_ms * interval '1 millisecond';
    permitted text[];
    key record;
    pause double precision := 0.01;
    pending boolean[];
    is_checked boolean := false;
begin
    if coalesce(timeout_ms, -1) not between 0 and 60000 then
        raise exception 'ERR TIMEOUT must be a number of milliseconds from 0 to 60000'
            using errcode = 'invalid_parameter_value';
    end if;
    if cardinality(ids) > 1000 then
        raise exception 'LIMIT a call waits for at most 1000 jobs' using errcode = 'invalid_parameter_value';
    end if;
    permitted := pgdisque.api_permitted(ids, 'read', 'write');
    select
        array_agg(k.queue_id order by k.ordinal) as queue_ids, array_agg(k.rank order by k.ordinal) as ranks,
        array_agg(k.id order by k.ordinal) as ids, count(*) as count
    into key
    from pgdisque.api_keys(permitted) as k;
    loop
        pending := array(
            select
                exists (
                    select
                    from pgdisque.job as j
                    where j.queue_id = k.queue_id
                      and j.rank = k.rank
                      and j.id = k.id
                      and j.expires_at > clock_timestamp()
                    union all
                    select
                    from pgdisque.waiting_job as w
                    where w.queue_id = k.queue_id
                      and w.rank = k.rank
                      and w.id = k.id
                      and w.outcome is null
                      and w.expires_at > clock_timestamp()
                )
            from unnest(key.queue_ids, key.ranks, key.ids) with ordinality as k (queue_id, rank, id, ordinal)
            order by k.ordinal);
        -- A job that has ended before the call must be known.
        if not is_checked and (key.count < cardinality(ids) or exists (
            select
            from unnest(key.queue_ids, key.ranks, key.ids, pending) as k (queue_id, rank, id, is_pending)
            where not k.is_pending
              and not exists (select from pgdisque.api_end(k.queue_id, k.rank, k.id))
        )) then
            raise exception 'NOJOB Job not known: it never existed, or it has ended and is not retained.'
                using errcode = 'no_data_found';
        end if;
        is_checked := true;
        exit when true <> all (pending) or (any_job and false = any (pending)) or clock_timestamp() >= deadline;
        perform pg_sleep(least(pause, extract(epoch from deadline - clock_timestamp())));
        pause := least(0.5, pause * 1.5);
    end loop;
    return query
    select permitted[k.ordinal], coalesce(e.state, 'gone'), e.result
    from unnest(key.queue_ids, key.ranks, key.ids, pending)
        with ordinality as k (queue_id, rank, id, is_pending, ordinal)
    left join lateral pgdisque.api_end(k.queue_id, k.rank, k.id) as e on true
    where not k.is_pending
    order by k.ordinal;
end
$$;

create or replace function pgdisque.wait_job(id text, timeout_ms integer default 10000)
returns table (state text, result bytea)
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select w.state, w.result from pgdisque.wait_jobs(array[id], timeout_ms) as w
$$;

-- Finds a batch, by its ID or that of one of its jobs: BATCH SHOW.
create or replace function pgdisque.batch(id text) returns setof pgdisque.batches
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    named constant bigint := (
        select k.id from pgdisque.api_keys(pgdisque.api_permitted(array[batch.id], 'read', 'write', 'list')) as k);
begin
    return query
    select v.*
    from pgdisque.batches as v
    where v.number = coalesce(
        (select b.id from pgdisque.batch as b where b.id = named),
        (select b.id from pgdisque.batch as b where b.failure_id = named),
        (select b.id from pgdisque.batch as b where b.success_id = named),
        (select f.batch_id from pgdisque.flow_job as f where f.id = named));
end
$$;
