-- Acknowledgement of jobs.

set local search_path = pg_catalog, pg_temp;

-- Items for the groups of jobs that have ended: per group the next job, if a job waits.
create or replace function pgdisque.api_next_in_groups(queue_ids integer[], keys bytea[], at timestamptz) returns text[]
language sql volatile set search_path = pg_catalog, pg_temp as $$
    select array(
        select n.item
        from unnest(queue_ids, keys) as g (queue_id, key)
        cross join lateral (
            select pgdisque.api_item('m', j.queue_id, j.rank, j.id) as item
            from pgdisque.job as j
            where j.queue_id = g.queue_id
              and j.group_key = g.key
              and j.group_key is not null
              and {{waits_in_group(j)}}
              and j.expires_at > at
            order by j.rank, j.id
            limit 1
        ) as n)
$$;

-- Deletes jobs in any state, and returns their number. An ID may have a token: ID:token. It is skipped if the
-- job was put back or delivered again since the token was given. Jobs are retained as their queue's retention
-- says, and for a minute if there is a result. retain_jobs.sql describes the tables.
create or replace function pgdisque.ack_jobs(ids text[], result bytea default null) returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
    changed_at constant timestamptz := clock_timestamp();
    jobs pgdisque.changed_job[];
    ends text[];
    group_queues integer[];
    group_keys bytea[];
    flow_ids bigint[];
    dead_queue_ids integer[];
begin
    if octet_length(result) > 67108864 then
        raise exception 'ERR RESULT is longer than 67108864 bytes' using errcode = 'invalid_parameter_value';
    end if;
    ids := pgdisque.api_permitted(ids, 'read');
    with gone as (
        delete from pgdisque.job as j
        using pgdisque.api_keys(ids) as k
        where j.queue_id = any (array[k.queue_id])
          and j.rank = k.rank
          and j.id = k.id
          and j.expires_at > changed_at
          and k.token in (0, pgdisque.api_token(j.nacks, j.additional_deliveries))
        returning j.*
    ),
    timed as (
        select
            g.*,
            coalesce(
                nullif(pgdisque.api_setting(g.queue_id, 'retention'), 0),
                case when ack_jobs.result is not null then 60 end
            ) as seconds
        from gone as g
    ),
    kept as (
        insert into pgdisque.retained as f (
            id, finished_at, keep_until, expires_at, queue_id, retry, delay, deliveries, nacks,
            additional_deliveries, rank, replicate, bucket, node, worker, error, result, body,
            {{metadata_columns()}}
        )
        select
            t.id, changed_at, u.keep_until, t.expires_at, t.queue_id, t.retry, t.delay, t.deliveries, t.nacks,
            {{additional(t, changed_at)}},
            t.rank, t.replicate, c.class * 4 + floor(extract(epoch from u.keep_until))::bigint / (5 << 3 * c.class) % 4,
            0, coalesce(case when t.owner = 0 then t.worker end, session_user || ' ' || pg_backend_pid()),
            t.error, ack_jobs.result, t.body, {{metadata(t)}}
        from timed as t
        cross join lateral (select changed_at + t.seconds * interval '1 second' as keep_until) as u
        cross join lateral (
            select width_bucket(t.seconds, '{11,81,641,5121,40961,327681}'::integer[]) as class
        ) as c
        where t.seconds is not null
        returning pgdisque.api_item('y', f.queue_id, f.rank, f.id, 2) as item
    ),
    groups as (
        select distinct t.queue_id, t.group_key
        from timed as t
        where t.group_key is not null
    )
    select
        (
            select array_agg(row(
                t.queue_id, t.rank, t.id, t.ready_at, t.wake_at, t.owner, t.retry,
                coalesce({{is_exhausted(t)}}, false), null)::pgdisque.changed_job)
            from timed as t
        ),
        (select array_agg(k.item) from kept as k),
        (select array_agg(g.queue_id order by g.queue_id, g.group_key) from groups as g),
        (select array_agg(g.group_key order by g.queue_id, g.group_key) from groups as g),
        (select array_agg(t.id) from timed as t where t.in_flow)
    into jobs, ends, group_queues, group_keys, flow_ids;
    -- The delete may have waited for add_job_after(). Only a later statement sees the new row in flow_job.
    if flow_ids is not null then
        update pgdisque.flow_job as f
        set outcome = coalesce(f.outcome, 1), result = ack_jobs.result
        where f.id = any (flow_ids);
    end if;
    with gone as (
        delete from pgdisque.dead_job as d
        using pgdisque.api_keys(ids) as k
        where d.queue_id = any (array[k.queue_id])
          and d.rank = k.rank
          and d.id = k.id
          and k.token in (0, pgdisque.api_token(d.nacks, d.additional_deliveries))
        returning d.queue_id
    )
    select array_agg(g.queue_id) into dead_queue_ids from gone as g;
    -- The servers count the dead jobs of these queues again.
    perform pgdisque.api_tell(
        ends || pgdisque.api_next_in_groups(group_queues, group_keys, changed_at)
        || array(select distinct 'd' || g from unnest(dead_queue_ids) as g));
    return pgdisque.api_tell_changed(jobs, 'gone', changed_at) + coalesce(cardinality(dead_queue_ids), 0);
end
$$;

create or replace function pgdisque.ack_jobs(ids text[], result text) returns integer
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select pgdisque.ack_jobs(ids, convert_to(result, 'UTF8'))
$$;

create or replace function pgdisque.ack_jobs(ids text[], result jsonb) returns integer
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select pgdisque.ack_jobs(ids, convert_to(result::text, 'UTF8'))
$$;
