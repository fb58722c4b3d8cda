-- Taking jobs.

set local search_path = pg_catalog, pg_temp;

-- Leases up to count ready jobs of a queue between two keys, the first key excluded: claim_scan.sql.
create or replace function pgdisque.api_claim(
    queue_id integer, from_rank integer, from_id bigint, to_rank integer, to_id bigint, count integer, worker text
) returns setof pgdisque.job
language plpgsql volatile
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
    taken_at constant timestamptz := clock_timestamp();
begin
    return query
    with taken as (
        update pgdisque.job as j
        set {{lease(j, taken_at, 0, api_claim.worker)}}
        where j.ctid = any (array(
            select r.ctid
            from pgdisque.job as r
            where r.queue_id = api_claim.queue_id
              and (r.rank, r.id) > (from_rank::smallint, from_id)
              and (r.rank, r.id) <= (to_rank::smallint, to_id)
              and {{queued(r, taken_at)}}
            order by r.rank, r.id
            limit count
            for update skip locked
        ))
        returning j.*
    )
    select t.* from taken as t order by t.rank, t.id;
end
$$;

-- The scan position of a session in a queue, and the time of its next full scan. It is a setting of the
-- session, because a rollback, which puts jobs back, then restores it as well.
create or replace function pgdisque.api_cursor(
    queue_id integer, out rank integer, out id bigint, out full_at timestamptz
)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    known constant text[] := string_to_array(
        nullif(current_setting('pgdisque.cursor_' || queue_id, true), ''), ',');
begin
    rank := coalesce(known[1]::integer, -32768);
    id := coalesce(known[2]::bigint, 0);
    full_at := coalesce(to_timestamp(known[3]::double precision), '-infinity');
end
$$;

create or replace function pgdisque.api_set_cursor(queue_id integer, rank integer, id bigint, full_at timestamptz)
returns void
language sql volatile set search_path = pg_catalog, pg_temp as $$
    select set_config(
        'pgdisque.cursor_' || queue_id, rank || ',' || id || ',' || extract(epoch from full_at), false)
$$;

-- The function of earlier versions has no column headers.
do $$
begin
    if exists (
        select
        from pg_proc as p
        where p.oid = to_regprocedure('pgdisque.get_jobs(text, integer, text)')
          and not 'headers' = any (p.proargnames)
    ) then
        drop function pgdisque.get_jobs(text, integer, text);
    end if;
end
$$;

-- Servers show the names of all workers at once.
create or replace function pgdisque.api_require_worker(worker text) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    if octet_length(worker) > 512 then
        raise exception 'ERR the name of a worker is longer than 512 bytes' using errcode = 'invalid_parameter_value';
    end if;
end
$$;

-- Takes jobs for a worker, with leases of their retry times. A rollback puts them back at once. A call
-- continues at the scan position of the session's last call. At intervals it scans the queue from the
-- beginning, for redelivered jobs. A full scan at each call would pass over all dead rows.
create or replace function pgdisque.get_jobs(queue text, count integer default 1, worker text default null)
returns table (id text, body bytea, nacks integer, additional_deliveries integer, token bigint, headers jsonb)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    place record;
    place_at record;
    job pgdisque.job;
    jobs pgdisque.job[] := '{}';
    items text[] := '{}';
    looked_at timestamptz;
    secret constant bytea := pgdisque.api_secret();
    holder constant text := coalesce(worker, session_user || ' ' || pg_backend_pid());
begin
    if coalesce(count, 0) < 1 then
        raise exception 'ERR COUNT must be a number greater than zero' using errcode = 'invalid_parameter_value';
    end if;
    perform pgdisque.api_require_worker(worker);
    perform pgdisque.api_require(queue, 'read');
    place := pgdisque.api_queue(convert_to(queue, 'UTF8'), false);
    if place.queue_id is null or place.pause & 2 <> 0 then
        return;
    end if;
    place_at := pgdisque.api_cursor(place.queue_id);
    looked_at := clock_timestamp();
    if place_at.full_at <= looked_at then
        jobs := array(select c from pgdisque.api_claim_within(
            place.queue_id, -32768, 0, place_at.rank, place_at.id, count, holder) as c);
        -- Full scans take at most a twentieth of the time.
        place_at.full_at := looked_at
            + greatest(interval '1 second', 20 * (clock_timestamp() - looked_at));
    end if;
    if cardinality(jobs) < count then
        jobs := jobs || array(select c from pgdisque.api_claim_within(
            place.queue_id, place_at.rank, place_at.id, 32767, 9223372036854775807,
            count - cardinality(jobs), holder) as c);
    end if;
    foreach job in array jobs loop
        if (job.rank, job.id) > (place_at.rank, place_at.id) then
            place_at.rank := job.rank;
            place_at.id := job.id;
        end if;
        if job.retry > 0 then
            items := items
                || pgdisque.api_leased(
                    job.queue_id, job.rank, job.id, job.ready_at, {{is_exhausted(job)}});
        end if;
        id := pgdisque.api_id(
            secret, (select n.id from pgdisque.node as n where n.number = pgdisque.api_node(job.id)),
            job.queue_id, job.rank, job.id, job.expires_at, job.retry);
        body := job.body;
        nacks := job.nacks;
        additional_deliveries := job.additional_deliveries;
        token := pgdisque.api_token(job.nacks, job.additional_deliveries);
        headers := job.headers;
        return next;
    end loop;
    perform pgdisque.api_set_cursor(place.queue_id, place_at.rank, place_at.id, place_at.full_at);
    if cardinality(jobs) > 0 then
        perform pgdisque.api_tell(
            pgdisque.api_counted(place.queue_id, -cardinality(jobs), 0, 0, cardinality(jobs)) || items);
    end if;
end
$$;
