-- IDs: as jobid.c makes and reads them.

-- a + b modulo 2^64.
create or replace function pgdisque.api_plus(a bigint, b bigint) returns bigint
language sql immutable as $$
    select (((a & 4611686018427387903) + (b & 4611686018427387903)) & 4611686018427387903)
        | ((((a >> 62) & 3) + ((b >> 62) & 3)
            + (((a & 4611686018427387903) + (b & 4611686018427387903)) >> 62)) << 62)
$$;

-- SipHash-2-4, as libsodium's crypto_shorthash.
create or replace function pgdisque.api_siphash(key bytea, input bytea) returns bytea
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    k0 bigint := 0;
    k1 bigint := 0;
    v0 bigint;
    v1 bigint;
    v2 bigint;
    v3 bigint;
    word bigint;
    words constant integer := length(input) / 8 + 1;
    -- The last byte is the length.
    padded constant bytea := input || substr('\x00000000000000'::bytea, 1, 7 - length(input) % 8)
        || set_byte('\x00', 0, length(input) % 256);
    hash bytea := '\x0000000000000000';
begin
    for i in reverse 7..0 loop
        k0 := k0 << 8 | get_byte(key, i);
        k1 := k1 << 8 | get_byte(key, 8 + i);
    end loop;
    v0 := k0 # x'736f6d6570736575'::bigint;
    v1 := k1 # x'646f72616e646f6d'::bigint;
    v2 := k0 # x'6c7967656e657261'::bigint;
    v3 := k1 # x'7465646279746573'::bigint;
    -- After the last word come four rounds that take none.
    for at in 0..words loop
        word := 0;
        if at < words then
            for i in reverse 7..0 loop
                word := word << 8 | get_byte(padded, 8 * at + i);
            end loop;
            v3 := v3 # word;
        else
            v2 := v2 # 255;
        end if;
        for round in 1..case when at < words then 2 else 4 end loop
            v0 := pgdisque.api_plus(v0, v1);
            v1 := (v1 << 13 | (v1 >> 51 & 8191)) # v0;
            v0 := v0 << 32 | (v0 >> 32 & 4294967295);
            v2 := pgdisque.api_plus(v2, v3);
            v3 := (v3 << 16 | (v3 >> 48 & 65535)) # v2;
            v0 := pgdisque.api_plus(v0, v3);
            v3 := (v3 << 21 | (v3 >> 43 & 2097151)) # v0;
            v2 := pgdisque.api_plus(v2, v1);
            v1 := (v1 << 17 | (v1 >> 47 & 131071)) # v2;
            v2 := v2 << 32 | (v2 >> 32 & 4294967295);
        end loop;
        v0 := v0 # word;
    end loop;
    word := v0 # v1 # v2 # v3;
    for i in 0..7 loop
        hash := set_byte(hash, i, (word >> 8 * i & 255)::integer);
    end loop;
    return hash;
end
$$;

create or replace function pgdisque.api_secret() returns bytea
language sql stable as $$
    select s.key from pgdisque.secret as s
$$;

create or replace function pgdisque.api_created_at(id bigint) returns timestamptz
language sql immutable as $$
    select timestamptz '2020-01-01 00:00:00+00' + (abs(id) >> 22) * interval '1 millisecond'
$$;

-- The ID that clients see: as in jobid.c.
create or replace function pgdisque.job_id(
    queue_id integer, rank smallint, id bigint, expires_at timestamptz, retry integer
) returns text
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
    node constant text := coalesce(
        (select left(n.id, 8) from pgdisque.node as n where n.number = (job_id.id >> 12 & 1023)), '00000000');
    minutes constant bigint := least(65535, greatest(0,
        floor(extract(epoch from expires_at - pgdisque.api_created_at(job_id.id)))::bigint / 60));
    ttl constant text := lpad(to_hex(minutes & ~1::bigint | case when retry > 0 then 1 else 0 end), 4, '0');
    raw constant bytea := int8send(job_id.id) || int4send(queue_id) || set_byte('\x00', 0, -rank);
    mac bytea;
begin
    mac := pgdisque.api_siphash(pgdisque.api_secret(), convert_to(node, 'UTF8') || raw || convert_to(ttl, 'UTF8'));
    return 'D-' || node || '-' || encode(raw || substr(mac, 1, 5), 'base64') || '-' || ttl;
end
$$;

-- What a function returns cannot be replaced. This one had no tokens once.
drop function if exists pgdisque.api_keys(text[]);

-- The keys in IDs, in the order of these, and the tokens behind them: 0 is none. Their MACs are not looked at: who
-- may call the functions that take IDs may do so with any job.
create function pgdisque.api_keys(ids text[])
returns table (ordinal bigint, queue_id integer, rank smallint, id bigint, token bigint)
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    job text;
    raw bytea;
begin
    ordinal := 0;
    foreach job in array coalesce(ids, '{}') loop
        ordinal := ordinal + 1;
        if job is null or job !~ '^D-.{8}-[A-Za-z0-9+/]{24}-.{4}(:[1-9][0-9]{0,17})?$' then
            raise exception 'BADID Invalid Job ID format: %', coalesce(quote_literal(job), 'null')
                using errcode = 'invalid_parameter_value';
        end if;
        raw := decode(substr(job, 12, 24), 'base64');
        id := ('x' || encode(substr(raw, 1, 8), 'hex'))::bit(64)::bigint;
        queue_id := ('x' || encode(substr(raw, 9, 4), 'hex'))::bit(32)::integer;
        rank := -get_byte(raw, 12);
        token := coalesce(nullif(substr(job, 42), '')::bigint, 0);
        return next;
    end loop;
end
$$;

-- Tells a delivery of a job from the ones before: job_token() in jobid.h.
create or replace function pgdisque.api_token(nacks integer, extras integer) returns bigint
language sql immutable as $$
    select 1::bigint + nacks + extras
$$;

-- An id for a job of node 0, never the same twice: the number is drawn within the millisecond that it stands
-- beside, and a millisecond is too short for 4096 of them.
create or replace function pgdisque.api_new_id() returns bigint
language plpgsql volatile as $$
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
