-- Bodies and results as text and JSON.

set local search_path = pg_catalog, pg_temp;

-- Bytes as text. Null if they are no text of the database's encoding.
create or replace function pgdisque.body_text(body bytea) returns text
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
begin
    return convert_from(body, 'UTF8');
exception
    when character_not_in_repertoire or untranslatable_character then
        return null;
end
$$;

-- Bytes as JSON. Null if they are no JSON that jsonb can hold. A client chooses the bytes, and a parsed value takes up
-- to 32 times their memory, so longer bodies are null too.
create or replace function pgdisque.body_json(body bytea) returns jsonb
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
begin
    if octet_length(body) > 16777216 then
        return null;
    end if;
    return convert_from(body, 'UTF8')::jsonb;
exception
    -- The error can be one of the encoding, the syntax, a number, the depth or the size.
    when others then
        return null;
end
$$;
