-- Deletes fields of the keys of client libraries: SREM, DEL.
-- params: $1 key, $2 field (null: all fields of the key), $3 now
-- returns: ordinal, lived (false: the field had expired); in no order
-- locks: the rows; waits; a deadlock is repeated by the server
-- index: library_value_pkey
with named as materialized (
    select k.ordinal::integer, k.key, k.field
    from unnest($1::bytea[], $2::bytea[]) with ordinality as k (key, field, ordinal)
),
fields as (
    delete from pgdisque.library_value as v
    using named as n
    where v.key = n.key
      and v.field = n.field
    returning n.ordinal, v.expires_at > $3::timestamptz as lived
),
whole as (
    delete from pgdisque.library_value as v
    using named as n
    where v.key = n.key
      and n.field is null
    returning n.ordinal, v.expires_at > $3::timestamptz as lived
)
select f.ordinal, f.lived
from fields as f
union all
select w.ordinal, w.lived
from whole as w
