-- Cancelling jobs.

set local search_path = pg_catalog, pg_temp;

-- Ends jobs, as CANCEL: deletes a job without a worker, and marks a running job, which ends with its lease. Returns
-- their number. The servers tell the worker after the commit, by the channel __cancel__:queue. The leader of the
-- servers counts the ends in workflows and batches.
create or replace function pgdisque.cancel_jobs(ids text[]) returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan as $$
declare
    changed_at constant timestamptz := clock_timestamp();
    gone pgdisque.changed_job[];
    marked pgdisque.changed_job[];
    messages text[];
    group_queues integer[];
    group_keys bytea[];
    flow_ids bigint[];
    unstarted integer;
begin
    ids := pgdisque.api_permitted(ids, 'read');
    with old as materialized (
        select j.*
        from pgdisque.api_keys(ids) as k
        join pgdisque.job as j on j.queue_id = any (array[k.queue_id]) and j.rank = k.rank and j.id = k.id
        where j.expires_at > changed_at
        for update of j
    ),
    deleted as (
        delete from pgdisque.job as j
        using old as o
        where j.queue_id = any (array[o.queue_id])
          and j.rank = o.rank
          and j.id = o.id
          and {{not_leased(o, changed_at)}}
        returning j.*
    ),
    held as (
        update pgdisque.job as j
        set attempts = -coalesce(j.attempts, 0), owner = 0
        from old as o
        where j.queue_id = any (array[o.queue_id])
          and j.rank = o.rank
          and j.id = o.id
          and {{is_leased(o, changed_at)}}
          and not {{is_cancelled(o)}}
        returning row(
            o.queue_id, o.rank, o.id, o.ready_at, o.wake_at, o.owner, o.retry, true, o.ready_at
        )::pgdisque.changed_job as job, j.id, j.in_flow,
            pgdisque.api_item('u', o.queue_id, o.rank, o.id, pgdisque.api_us(o.expires_at)) || ',' || o.retry as message
    ),
    waiting as (
        update pgdisque.waiting_job as w
        set outcome = 3
        from pgdisque.api_keys(ids) as k
        where w.id = any (array[k.id])
          and w.outcome is null
          and w.expires_at > changed_at
        returning w.id
    ),
    closed as (
        {{close_cancelled(waiting, changed_at)}}
    )
    select
        (
            select array_agg(row(
                d.queue_id, d.rank, d.id, d.ready_at, d.wake_at, d.owner, d.retry,
                coalesce({{is_exhausted(d)}}, false), null)::pgdisque.changed_job)
            from deleted as d
        ),
        (select array_agg(h.job) from held as h),
        (select array_agg(h.message) from held as h),
        (select array_agg(d.queue_id order by d.queue_id, d.group_key) from deleted as d where d.group_key is not null),
        (
            select array_agg(d.group_key order by d.queue_id, d.group_key)
            from deleted as d
            where d.group_key is not null
        ),
        (select count(*) from waiting as w),
        (
            select array_agg(c.id)
            from (
                select d.id from deleted as d where d.in_flow
                union all
                select h.id from held as h where h.in_flow
            ) as c
        )
    into gone, marked, messages, group_queues, group_keys, unstarted, flow_ids;
    -- The lock may have waited for add_job_after(). Only a later statement sees the new row in flow_job.
    if flow_ids is not null then
        with cancelled as (select c.id, true as in_flow from unnest(flow_ids) as c (id))
        {{note_outcome(cancelled, 3)}};
    end if;
    perform pgdisque.api_tell(
        coalesce(messages, '{}')
        || array(select pgdisque.api_item('y', g.queue_id, g.rank, g.id, 8) from unnest(gone) as g)
        || pgdisque.api_next_in_groups(group_queues, group_keys, changed_at));
    return pgdisque.api_tell_changed(gone, 'gone', changed_at)
        + pgdisque.api_tell_changed(marked, 'leased', changed_at) + unstarted;
end
$$;
