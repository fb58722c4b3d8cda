-- Roles and rights.

set local search_path = pg_catalog, pg_temp;

-- The functions with these names, with all their arguments, for GRANT.
create or replace function pgdisque.api_functions(names text[]) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
    select string_agg(p.oid::regprocedure::text, ', ')
    from pg_proc as p
    where p.pronamespace = 'pgdisque'::regnamespace
      and p.proname = any (names)
$$;

-- Creates the roles if that is permitted. Otherwise an administrator creates them and then calls this function.
-- A role without rights on the functions cannot see the jobs.
create or replace function pgdisque.grant_roles() returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    role text;
    adding constant text := pgdisque.api_functions(
        '{wake,unlock,add_unique_job,add_job,add_jobs,add_job_after,add_jobs_after,new_batch,close_batch,batch,'
        'batch_jobs,predecessors,wait_job,wait_jobs,body_text,body_json}');
    taking constant text := pgdisque.api_functions(
        '{get_jobs,ack_jobs,nack_jobs,enqueue_jobs,cancel_jobs,cancel_batch,working,release_worker,job,batch,'
        'batch_jobs,predecessors,wait_job,wait_jobs,body_text,body_json}');
    viewing constant text := pgdisque.api_functions(
        '{queue_name,body_text,body_json,api_created_at,api_node,api_round,api_id}');
begin
    revoke all on all functions in schema pgdisque from public;
    foreach role in array array[
        'pgdisque_producer', 'pgdisque_consumer', 'pgdisque_tenant', 'pgdisque_reader', 'pgdisque_server'
    ] loop
        begin
            if to_regrole(role) is null then
                execute format('create role %I nologin', role);
            end if;
        exception
            when insufficient_privilege then continue;
            -- Servers of other databases may create them at the same time.
            when duplicate_object or unique_violation then null;
        end;
        execute format('grant usage on schema pgdisque to %I', role);
        execute case role
            when 'pgdisque_producer' then
                'grant execute on function ' || adding || ' to pgdisque_producer'
            when 'pgdisque_consumer' then
                'grant execute on function ' || taking || ' to pgdisque_consumer'
            when 'pgdisque_tenant' then
                'grant execute on function ' || adding || ', ' || taking || ', ' || viewing
                || ', pgdisque.api_readable(), pgdisque.api_may(bytea, text) to pgdisque_tenant;'
                'grant select on pgdisque.own_jobs, pgdisque.own_dead, pgdisque.own_done, pgdisque.own_queues,'
                ' pgdisque.own_queue_stats, pgdisque.own_workers, pgdisque.own_batches, pgdisque.own_waiting_jobs,'
                ' pgdisque.own_schedules to pgdisque_tenant'
            when 'pgdisque_reader' then
                'grant execute on function ' || viewing || ', pgdisque.job(text), pgdisque.batch(text),'
                ' pgdisque.batch_jobs(text), pgdisque.predecessors(text) to pgdisque_reader;'
                'grant select on pgdisque.jobs, pgdisque.dead, pgdisque.done, pgdisque.queues,'
                ' pgdisque.queue_stats, pgdisque.nodes, pgdisque.workers, pgdisque.schedules, pgdisque.batches,'
                ' pgdisque.waiting_jobs to pgdisque_reader'
            else
                'grant select, insert, update, delete, truncate on all tables in schema pgdisque to pgdisque_server;'
                'grant usage, select, update on all sequences in schema pgdisque to pgdisque_server;'
                -- The statements of the server call this function only.
                'grant execute on function pgdisque.lease_ended(jsonb, timestamptz, integer) to pgdisque_server'
        end;
    end loop;
end
$$;

select pgdisque.grant_roles();
