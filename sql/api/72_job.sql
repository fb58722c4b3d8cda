-- Functions about a single job: job and wait_job.

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

-- Waits for the end of a job, as WAITJOB does, and returns the outcome: done with its result, dead with its
-- last error, or gone. No row if the time is over before. It polls, and the transaction stays open, so the time
-- is a minute at most.
create or replace function pgdisque.wait_job(id text, timeout_ms integer default 10000)
returns table (state text, result bytea)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    deadline constant timestamptz := clock_timestamp() + timeout_ms * interval '1 millisecond';
    key record;
    pause double precision := 0.01;
    lived boolean := false;
begin
    if coalesce(timeout_ms, -1) not between 0 and 60000 then
        raise exception 'ERR TIMEOUT must be a number of milliseconds from 0 to 60000'
            using errcode = 'invalid_parameter_value';
    end if;
    select k.* into key from pgdisque.api_keys(pgdisque.api_permitted(array[id], 'read', 'write')) as k;
    loop
        if not exists (
            select
            from pgdisque.job as j
            where j.queue_id = key.queue_id
              and j.rank = key.rank
              and j.id = key.id
              and j.expires_at > clock_timestamp()
        ) then
            exit;
        end if;
        lived := true;
        if clock_timestamp() >= deadline then
            return;
        end if;
        perform pg_sleep(least(pause, extract(epoch from deadline - clock_timestamp())));
        pause := least(0.5, pause * 1.5);
    end loop;
    return query
    select 'done', f.result
    from pgdisque.retained as f
    where f.queue_id = key.queue_id
      and f.rank = key.rank
      and f.id = key.id
      and f.keep_until > clock_timestamp()
    union all
    select 'dead', d.error
    from pgdisque.dead_job as d
    where d.queue_id = key.queue_id
      and d.rank = key.rank
      and d.id = key.id
    limit 1;
    if not found then
        if not lived then
            raise exception 'NOJOB Job not known: it never was, or it has ended and is not kept any more.'
                using errcode = 'no_data_found';
        end if;
        state := 'gone';
        return next;
    end if;
end
$$;
