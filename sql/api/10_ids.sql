--! version 7
-- Job IDs, in the format of job_key.c.

set local search_path = pg_catalog, pg_temp;

create or replace function pgdisque.api_secret() returns bytea
language sql stable set search_path = pg_catalog, pg_temp as $$
    select s.key from pgdisque.secret as s
$$;

-- The SHA-256 of the secret and the input, twice, because the input has any length: jobid_seal().
create or replace function pgdisque.api_seal(input bytea) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    secret constant bytea := pgdisque.api_secret();
begin
    return encode(substr(sha256(secret || sha256(secret || input)), 1, 8), 'hex');
end
$$;

-- A negative id is at the front of a list. Its absolute value has the time. The function is stable as its operators
-- are: Postgres does not inline an immutable function with them.
create or replace function pgdisque.api_created_at(id bigint) returns timestamptz
language sql stable
return {{created_at(id)}};

create or replace function pgdisque.api_node(id bigint) returns smallint
language sql immutable
return (abs(id) >> 12 & 1023)::smallint;

-- Computes a half of an ID's block after a round from the other half: run_round().
create or replace function pgdisque.api_round(
    secret bytea, number integer, outside bytea, other bit, half bit
) returns bit
language sql immutable
return half # ('x' || encode(sha256(
    secret || set_byte('\x00', 0, number) || outside || substr(bit_send(other), 5)), 'hex'))::bit(72);

-- The ID that clients see. node: the first eight digits of the node's ID, or null if the node is unknown.
create or replace function pgdisque.api_id(
    secret bytea, node text, queue_id integer, rank smallint, id bigint, expires_at timestamptz, retry integer
) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    minutes constant bigint := least(65535, greatest(0,
        floor(date_part('epoch', expires_at - pgdisque.api_created_at(id)))::bigint / 60));
    ttl constant text := lpad(to_hex(minutes & ~1::bigint | case when retry > 0 then 1 else 0 end), 4, '0');
    digits constant text := coalesce(left(node, 8), '00000000');
    outside constant bytea := convert_to(digits || ttl, 'UTF8');
    a bit(72) := queue_id::bit(32) || repeat('0', 40)::bit(40);
    b bit(72) := id::bit(64) || (-rank::integer)::bit(8);
begin
    a := pgdisque.api_round(secret, 0, outside, b, a);
    b := pgdisque.api_round(secret, 1, outside, a, b);
    return 'D-' || digits || '-' || encode(substr(bit_send(a || b), 5), 'base64') || '-' || ttl;
end
$$;

-- Refuses IDs of another form. It is called before the statements that use the IDs, because Postgres shows the text of
-- the statement with the error.
create or replace function pgdisque.api_refuse_ids(ids text[]) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    job text;
begin
    foreach job in array coalesce(ids, '{}') loop
        if job is null or job !~ '^D-.{8}-[A-Za-z0-9+/]{24}-.{4}(:[1-9][0-9]{0,17})?$' then
            raise exception 'BADID Invalid Job ID format: %', coalesce(quote_literal(job), 'null')
                using errcode = 'invalid_parameter_value';
        end if;
    end loop;
end
$$;

-- The keys in IDs, in the order of the IDs, and their tokens: 0 is none. An ID that this database did not make
-- has no row. api_permitted() has checked the form of the IDs.
create or replace function pgdisque.api_keys(ids text[])
returns table (ordinal bigint, queue_id integer, rank smallint, id bigint, token bigint)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    secret constant bytea := pgdisque.api_secret();
    job text;
    block bit(144);
    outside bytea;
    a bit(72);
    b bit(72);
begin
    ordinal := 0;
    foreach job in array coalesce(ids, '{}') loop
        ordinal := ordinal + 1;
        outside := convert_to(substr(job, 3, 8) || substr(job, 37, 4), 'UTF8');
        block := ('x' || encode(decode(substr(job, 12, 24), 'base64'), 'hex'))::bit(144);
        a := substring(block, 1, 72);
        b := substring(block, 73);
        b := pgdisque.api_round(secret, 1, outside, a, b);
        a := pgdisque.api_round(secret, 0, outside, b, a);
        continue when substring(a, 33) <> repeat('0', 40)::bit(40);
        queue_id := substring(a, 1, 32)::integer;
        id := substring(b, 1, 64)::bigint;
        rank := -substring(b, 65)::integer;
        token := coalesce(nullif(substr(job, 42), '')::bigint, 0);
        return next;
    end loop;
end
$$;

-- The token of a delivery, which differs from those of earlier deliveries: job_token() in base/job_key.h.
create or replace function pgdisque.api_token(nacks integer, additional_deliveries integer) returns bigint
language sql immutable
return 1::bigint + nacks + additional_deliveries;

-- A unique id for a job of node 0. The number is drawn within the millisecond of the id, and a millisecond is
-- too short for 4096 numbers.
create or replace function pgdisque.api_new_id() returns bigint
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    before bigint;
    number bigint;
begin
    loop
        before := floor(extract(epoch from clock_timestamp()) * 1000);
        number := nextval('pgdisque.sql_job');
        exit when before = floor(extract(epoch from clock_timestamp()) * 1000);
    end loop;
    return (before - 1577836800000) << 22 | (number & 4095);
end
$$;
