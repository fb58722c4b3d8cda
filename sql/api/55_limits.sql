-- Taking jobs from queues with limits: the steps of claim_limited.sql.

set local search_path = pg_catalog, pg_temp;

-- Leases jobs whose lease has ended and that still have their slots.
create or replace function pgdisque.api_claim_again(queue_id integer, most integer, count integer, worker text)
returns setof pgdisque.job
language plpgsql volatile
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
    taken_at constant timestamptz := clock_timestamp();
begin
    return query
    with taken as (
        update pgdisque.job as j
        set {{lease(j, taken_at, 0, api_claim_again.worker)}}
        where j.ctid = any (array(
            select r.ctid
            from pgdisque.slot as s
            join pgdisque.job as r
                on r.queue_id = any (array[s.queue_id]) and r.rank = s.rank and r.id = s.id
            where s.queue_id = api_claim_again.queue_id
              and s.n <= most
              and r.slot = s.n
              and {{is_due(r, taken_at)}}
              and {{has_attempts(r)}}
            limit count
            for update of r skip locked
        ))
        returning j.*
    )
    select t.* from taken as t order by t.rank, t.id;
end
$$;

-- Locks free slots until the transaction ends. Returns none while more jobs run than the limit allows, which
-- can happen after the limit was lowered.
create or replace function pgdisque.api_free_slots(queue_id integer, most integer, count integer) returns integer[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
    found integer[];
begin
    if exists (
        select
        from pgdisque.slot as s
        join pgdisque.job as j on j.queue_id = any (array[s.queue_id]) and j.rank = s.rank and j.id = s.id
        where s.queue_id = api_free_slots.queue_id
          and s.n > most
          and {{runs_in(j, s, clock_timestamp())}}
    ) then
        return '{}';
    end if;
    found := array(
        select s.n
        from pgdisque.slot as s
        where s.queue_id = api_free_slots.queue_id
          and s.n <= most
          and not exists (
              select from pgdisque.job as j
              where j.queue_id = any (array[s.queue_id]) and j.rank = s.rank and j.id = s.id
                and j.slot = s.n and j.expires_at > clock_timestamp())
        limit count
        for update of s skip locked);
    -- Checks them again, because no other session can take them now.
    return array(
        select s.n
        from pgdisque.slot as s
        where s.queue_id = api_free_slots.queue_id
          and s.n = any (found)
          and not exists (
              select from pgdisque.job as j
              where j.queue_id = any (array[s.queue_id]) and j.rank = s.rank and j.id = s.id
                and j.slot = s.n and j.expires_at > clock_timestamp()));
end
$$;

drop function if exists pgdisque.api_tokens(integer, integer), pgdisque.api_spend(integer, integer, integer);

-- Returns how many jobs the rate allows now; null: there is no rate. Other sessions cannot take these tokens until the
-- transaction ends.
create or replace function pgdisque.api_tokens(queue_id integer) returns integer
language sql volatile set search_path = pg_catalog, pg_temp as $$
    with {{limits(api_tokens.queue_id)}}
    select case when l.rate > 0 then coalesce((select floor(b.tokens)::integer from bucket as b), 0) end
    from setting as l
$$;

create or replace function pgdisque.api_spend(queue_id integer, jobs integer) returns void
language sql volatile set search_path = pg_catalog, pg_temp as $$
    with {{limits(api_spend.queue_id)}}
    update pgdisque.bucket as b
    set {{spend(u, api_spend.jobs)}}
    from bucket as u
    where b.ctid = u.place
      and api_spend.jobs > 0
$$;

-- As api_claim(), for a queue with max-active.
create or replace function pgdisque.api_claim_slots(
    queue_id integer, from_rank integer, from_id bigint, to_rank integer, to_id bigint, count integer, worker text,
    most integer
) returns setof pgdisque.job
language plpgsql volatile
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
    slots integer[];
    job pgdisque.job;
begin
    for job in select c.* from pgdisque.api_claim_again(queue_id, most, api_claim_slots.count, worker) as c loop
        api_claim_slots.count := api_claim_slots.count - 1;
        return next job;
    end loop;
    -- Slots stay locked until the transaction ends, so lock no more slots than there are jobs.
    select count(*) into api_claim_slots.count
    from (
        select
        from pgdisque.job as r
        where r.queue_id = api_claim_slots.queue_id
          and (r.rank, r.id) > (from_rank::smallint, from_id)
          and (r.rank, r.id) <= (to_rank::smallint, to_id)
          and {{queued(r, clock_timestamp())}}
        limit api_claim_slots.count
    ) as c;
    slots := pgdisque.api_free_slots(queue_id, most, api_claim_slots.count);
    for job in
        select c.*
        from pgdisque.api_claim(
            queue_id, from_rank, from_id, to_rank, to_id, cardinality(slots), worker) as c
    loop
        job.slot := slots[1];
        slots := slots[2:];
        update pgdisque.slot as s
        set rank = job.rank, id = job.id, turn = s.turn + 1
        where s.queue_id = job.queue_id
          and s.n = job.slot;
        update pgdisque.job as j
        set slot = job.slot
        where j.queue_id = job.queue_id
          and j.rank = job.rank
          and j.id = job.id;
        return next job;
    end loop;
end
$$;

-- The number of jobs of the queue that may run at once. 0: no limit. A queue with per-group has only limits of
-- its groups.
create or replace function pgdisque.api_most_active(queue_id integer) returns integer
language sql stable set search_path = pg_catalog, pg_temp as $$
    select case
        when coalesce(pgdisque.api_setting(queue_id, 'per-group'), 0) = 0
        then coalesce(pgdisque.api_setting(queue_id, 'max-active'), 0)
        else 0
    end
$$;

-- As api_claim(), for queues with or without limits. With per-group, the release of jobs applies the limits.
create or replace function pgdisque.api_claim_within(
    queue_id integer, from_rank integer, from_id bigint, to_rank integer, to_id bigint, count integer, worker text
) returns setof pgdisque.job
language plpgsql volatile
set search_path = pg_catalog, pg_temp as $$
declare
    is_limited constant boolean := coalesce(pgdisque.api_setting(queue_id, 'per-group'), 0) = 0;
    most constant integer := pgdisque.api_most_active(queue_id);
    tokens constant integer := case
        when is_limited and pgdisque.api_setting(queue_id, 'rate') > 0 then pgdisque.api_tokens(queue_id)
    end;
    jobs pgdisque.job[];
begin
    count := least(count, tokens);
    jobs := case
        when most > 0 then array(
            select c from pgdisque.api_claim_slots(
                queue_id, from_rank, from_id, to_rank, to_id, count, worker, most) as c)
        else array(
            select c from pgdisque.api_claim(queue_id, from_rank, from_id, to_rank, to_id, count, worker) as c)
    end;
    if tokens is not null then
        perform pgdisque.api_spend(queue_id, cardinality(jobs));
    end if;
    return query select j.* from unnest(jobs) as j;
end
$$;
