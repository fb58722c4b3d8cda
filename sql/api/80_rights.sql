-- Roles and rights.

set local search_path = pg_catalog, pg_temp;

-- Creates the roles if that is permitted. Otherwise an administrator creates them and then calls this function.
-- A role without rights on the functions cannot see the jobs.
create or replace function pgdisque.grant_roles() returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    role text;
    adding constant text :=
        'pgdisque.wake(text[]),'
        ' pgdisque.add_job(text, bytea, integer, integer, integer, integer, boolean, integer, integer, text, text,'
        ' text, integer),'
        ' pgdisque.add_job(text, text, integer, integer, integer, integer, boolean, integer, integer, text, text,'
        ' text, integer),'
        ' pgdisque.add_jobs(text, bytea[], integer, integer, integer, integer, boolean, integer, integer, text, text,'
        ' text[], integer),'
        ' pgdisque.add_jobs(text, text[], integer, integer, integer, integer, boolean, integer, integer, text, text,'
        ' text[], integer),'
        ' pgdisque.wait_job(text, integer)';
    taking constant text :=
        'pgdisque.get_jobs(text, integer, text), pgdisque.ack_jobs(text[], bytea),'
        ' pgdisque.nack_jobs(text[], integer, text), pgdisque.working(text[], text, integer),'
        ' pgdisque.release_worker(text), pgdisque.wait_job(text, integer), pgdisque.job(text)';
    viewing constant text :=
        'pgdisque.queue_name(bytea), pgdisque.api_created_at(bigint), pgdisque.api_node(bigint),'
        ' pgdisque.api_round(bytea, integer, bytea, bit, bit),'
        ' pgdisque.api_id(bytea, text, integer, smallint, bigint, timestamptz, integer)';
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
                || ', pgdisque.api_readable() to pgdisque_tenant;'
                'grant select on pgdisque.own_jobs, pgdisque.own_dead, pgdisque.own_done, pgdisque.own_queues,'
                ' pgdisque.own_workers to pgdisque_tenant'
            when 'pgdisque_reader' then
                'grant execute on function ' || viewing || ', pgdisque.job(text) to pgdisque_reader;'
                'grant select on pgdisque.jobs, pgdisque.dead, pgdisque.done, pgdisque.queues, pgdisque.nodes,'
                ' pgdisque.workers, pgdisque.schedules to pgdisque_reader'
            else
                'grant select, insert, update, delete, truncate on all tables in schema pgdisque to pgdisque_server;'
                'grant usage, select, update on all sequences in schema pgdisque to pgdisque_server'
        end;
    end loop;
end
$$;

select pgdisque.grant_roles();
