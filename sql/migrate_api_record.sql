-- Remembers that text in the transaction that ran it.
-- params: $1 digest
insert into pgdisque.api (digest, schema)
values ($1::text, pg_catalog.to_regnamespace('pgdisque'))
on conflict (only_row) do update
set digest = excluded.digest,
    schema = excluded.schema
