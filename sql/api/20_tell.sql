-- Messages to the servers, in the format of messages between servers: peers.h. Functions with stable operators, such as
-- text || integer, are stable: Postgres does not inline immutable functions with them.

set local search_path = pg_catalog, pg_temp;

create or replace function pgdisque.api_us(at timestamptz) returns bigint
language sql stable
return (extract(epoch from at) * 1000000)::bigint;

create or replace function pgdisque.api_counted(
    queue_id integer, len bigint, total bigint, jobs_in bigint, jobs_out bigint
) returns text
language sql stable
return 'c' || queue_id || ',' || len || ',' || total || ',' || jobs_in || ',' || jobs_out;

-- Changes of the numbers of delayed and waiting jobs; no item if there are none.
create or replace function pgdisque.api_states(queue_id integer, delayed bigint, waiting bigint) returns text[]
language sql stable
return case
    when delayed = 0 and waiting = 0 then '{}'
    else array['j' || queue_id || ',' || delayed || ',' || waiting]
end;

create or replace function pgdisque.api_item(
    item text, queue_id integer, rank smallint, id bigint, number bigint default null
) returns text
language sql stable
return item || queue_id || ',' || rank || ',' || id || coalesce(',' || number, '');

create or replace function pgdisque.api_leased(
    queue_id integer, rank smallint, id bigint, until timestamptz, last boolean
) returns text
language sql stable
return pgdisque.api_item('g', queue_id, rank, id, pgdisque.api_us(until)) || case when last then ',1' else ',0' end;

-- Sends items (outbox.h) to the servers when this transaction commits, in messages as in peers.h.
create or replace function pgdisque.api_tell(items text[]) returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    most constant integer := 40;
    message text;
begin
    for at in 1..coalesce(cardinality(items), 0) by most loop
        message := ' 0 0 ' || nextval('pgdisque.sql_message') || ' 0 o' || pgdisque.api_us(clock_timestamp())
            || ' ' || array_to_string(items[at:at + most - 1], ' ');
        perform pg_notify('pgdisque', '1 ' || pgdisque.api_seal(convert_to(message, 'UTF8')) || message);
    end loop;
end
$$;
