-- Deletes fields of the keys of client libraries: SREM, DEL.
-- params: $1 key, $2 field (null: all fields of the key), $3 now
-- returns: ordinal, lived (false: the field had expired); in no order
-- locks: the rows; waits; a deadlock is repeated by the server
-- index: library_value_pkey
delete from pgdisque.library_value as v
using unnest($1::bytea[], $2::bytea[]) with ordinality as k (key, field, ordinal)
where v.key = k.key
  and v.field = coalesce(k.field, v.field)
returning k.ordinal::integer, v.expires_at > $3::timestamptz as lived
