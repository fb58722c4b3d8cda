-- Records a migration, in the transaction that applied it.
-- params: $1 version, $2 name, $3 breaking
insert into pgdisque.migration (version, name, breaking)
values ($1::integer, $2::text, $3::boolean)
