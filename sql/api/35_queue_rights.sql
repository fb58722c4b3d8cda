-- Rights of roles on queues: queue_grant.

set local search_path = pg_catalog, pg_temp;

-- The role that calls a function: the role of SET ROLE, or else of the session. In a function with the rights of
-- the schema's owner, current_user is the owner.
create or replace function pgdisque.api_caller() returns name
language sql stable
return coalesce(nullif(current_setting('role'), 'none')::name, session_user);

-- Tells whether the caller has a right on all queues: as the owner of the schema, or by the role for consumers
-- ('read'), producers ('write') or readers ('list'). Call it with the owner's rights, so that current_user is the
-- owner. Queries and PL/pgSQL inline it.
create or replace function pgdisque.api_may_all(wanted text) returns boolean
language sql stable
return pg_has_role(pgdisque.api_caller(), current_user, 'usage')
    or coalesce(pg_has_role(pgdisque.api_caller(), to_regrole('pgdisque_' || case wanted
        when 'read' then 'consumer' when 'write' then 'producer' when 'list' then 'reader'
    end), 'usage'), false);

-- Tells whether the caller has a right on a queue, which need not exist. A grant to read includes 'list'.
create or replace function pgdisque.api_may(queue bytea, wanted text) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return pgdisque.api_may_all(wanted) or exists (
        select
        from pgdisque.queue_grant as g
        join pg_roles as r on r.rolname = g.role
        where case wanted when 'write' then g.can_write else g.can_read end
          and api_may.queue like g.name_like
          and pg_has_role(pgdisque.api_caller(), r.oid, 'usage'));
end
$$;

-- Tells whether the caller has any right on a queue.
create or replace function pgdisque.api_may_any(queue bytea) returns boolean
language sql stable
return pgdisque.api_may(queue, 'read') or pgdisque.api_may(queue, 'write') or pgdisque.api_may(queue, 'list');

-- Refuses a call without the name of a queue, and one by a role that lacks one of the rights on the queue.
create or replace function pgdisque.api_require(queue text, variadic wanted text[]) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    if queue is null then
        raise exception 'ERR queue must not be null' using errcode = 'null_value_not_allowed';
    end if;
    if queue = '' then
        raise exception 'ERR the name of the queue is empty' using errcode = 'invalid_parameter_value';
    end if;
    for i in 1..cardinality(wanted) loop
        if not pgdisque.api_may_all(wanted[i]) and not pgdisque.api_may(convert_to(queue, 'UTF8'), wanted[i]) then
            raise exception 'NOPERM No permissions to access a queue' using errcode = 'insufficient_privilege';
        end if;
    end loop;
end
$$;

-- The IDs of jobs whose queues the caller has one of the rights on. Functions treat other IDs as unknown jobs. Refuses
-- IDs of another form. The result has one dimension, from 1.
create or replace function pgdisque.api_permitted(ids text[], variadic wanted text[]) returns text[]
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    perform pgdisque.api_refuse_ids(ids);
    if array_ndims(ids) > 1 or array_lower(ids, 1) <> 1 then
        ids := array(select i.id from unnest(ids) with ordinality as i (id, ordinal) order by i.ordinal);
    end if;
    for i in 1..cardinality(wanted) loop
        if pgdisque.api_may_all(wanted[i]) then
            return ids;
        end if;
    end loop;
    return array(
        select ids[k.ordinal]
        from pgdisque.api_keys(ids) as k
        join pgdisque.queue as q on q.id = k.queue_id
        where exists (select from unnest(wanted) as w (wanted) where pgdisque.api_may(q.name, w.wanted))
        order by k.ordinal);
end
$$;

-- The queues that the caller may read.
create or replace function pgdisque.api_readable() returns setof integer
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return query
    select q.id
    from pgdisque.queue as q
    where pgdisque.api_may(q.name, 'read');
end
$$;

-- Makes a pattern of LIKE from a pattern of a grant.
create or replace function pgdisque.api_like(pattern text) returns bytea
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    made text := '';
    part text;
begin
    for part in select m[1] from regexp_matches(pattern, '(\\.|.)', 'gs') as m loop
        made := made || case
            when part = '*' then '%'
            when part = '?' then '_'
            when part in ('%', '_', '\') then '\' || part
            else part
        end;
    end loop;
    return convert_to(made, 'UTF8');
end
$$;

-- Grants a role rights on all queues whose names match a pattern: 'read' to take, acknowledge and list jobs,
-- 'write' to add jobs, or 'read write'. The rights add to those that the role has.
create or replace function pgdisque.grant_queue(role text, pattern text, rights text default 'read write') returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
    if lower(rights) in ('read', 'write', 'read write') is not true then
        raise exception 'ERR the rights are read, write or read write' using errcode = 'invalid_parameter_value';
    end if;
    if pattern is null or pattern = '' or octet_length(pattern) > 65536 then
        raise exception 'ERR the pattern must have 1 to 65536 bytes' using errcode = 'invalid_parameter_value';
    end if;
    if strpos(pattern, '[') > 0 then
        raise exception 'ERR a pattern has only * and ?, and a backslash before such a character'
            using errcode = 'invalid_parameter_value';
    end if;
    if not exists (select from pg_roles as r where r.rolname = grant_queue.role) then
        raise exception 'ERR Unknown role: %', quote_nullable(role) using errcode = 'undefined_object';
    end if;
    insert into pgdisque.queue_grant as g (role, pattern, name_like, can_read, can_write)
    values (
        grant_queue.role, grant_queue.pattern, pgdisque.api_like(grant_queue.pattern), lower(rights) <> 'write',
        lower(rights) <> 'read')
    on conflict on constraint queue_grant_pkey do update
    set can_read = g.can_read or excluded.can_read, can_write = g.can_write or excluded.can_write;
end
$$;

-- Revokes the rights of a pattern from a role, or with no pattern all its rights. Returns the number of patterns.
create or replace function pgdisque.revoke_queue(role text, pattern text default null) returns integer
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    revoked integer;
begin
    delete from pgdisque.queue_grant as g
    where g.role = revoke_queue.role
      and (revoke_queue.pattern is null or g.pattern = revoke_queue.pattern);
    get diagnostics revoked = row_count;
    return revoked;
end
$$;
