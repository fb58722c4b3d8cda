-- Queues: their ids and names.

set local search_path = pg_catalog, pg_temp;

-- Returns the id of a queue, and its pause. A missing queue is created if make is true, otherwise the id is
-- null. Until the transaction commits, other SQL sessions wait for the new queue. Servers do not wait, they try
-- again (open_queues.sql takes the same lock).
--
-- If make is true, the transaction may add rows with that id. No server drops a queue once sql_job was used
-- (drop_queues.sql), which therefore comes before the search.
create or replace function pgdisque.api_queue(
    name bytea, make boolean, out queue_id integer, out pause smallint, out is_new boolean
)
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
    if octet_length(name) > 65536 then
        raise exception 'ERR queue name is longer than 65536 bytes' using errcode = 'invalid_parameter_value';
    end if;
    is_new := false;
    if make and not (select s.is_called from pgdisque.sql_job as s) then
        perform nextval('pgdisque.sql_job');
    end if;
    for step in 1..2 loop
        select q.id, q.pause into queue_id, api_queue.pause
        from pgdisque.queue as q
        where sha256(q.name) = sha256(api_queue.name);
        exit when found or not make;
        if step = 1 then
            perform pg_advisory_xact_lock(7712, hashtext(encode(name, 'hex')));
        else
            insert into pgdisque.queue as q (name) values (api_queue.name) returning q.id, q.pause
            into queue_id, api_queue.pause;
            is_new := true;
        end if;
    end loop;
end
$$;

-- Refuses an add to a queue with this pause, if the queue is paused in.
create or replace function pgdisque.api_refuse_paused(pause smallint) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    if pause & 1 <> 0 then
        raise exception 'PAUSED Queue paused in input, try later' using errcode = 'object_not_in_prerequisite_state';
    end if;
end
$$;

-- Shows bytes as text if they are valid text, otherwise escaped.
create or replace function pgdisque.queue_name(name bytea) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    return convert_from(name, 'UTF8');
exception
    when character_not_in_repertoire or untranslatable_character then
        return encode(name, 'escape');
end
$$;
