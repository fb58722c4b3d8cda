-- Records that text, in the transaction that ran it.
-- params: $1 digest, $2 version
insert into pgdisque.api (digest, version, schema)
values ($1::text, $2::integer, to_regnamespace('pgdisque'))
on conflict (only_row) do update
set digest = excluded.digest,
    version = excluded.version,
    schema = excluded.schema
