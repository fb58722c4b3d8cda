-- Reads fields of the keys of client libraries: HGET, HMGET, HGETALL, SMEMBERS, SISMEMBER, SCARD, SSCAN, GET, MGET,
-- BITFIELD_RO, EXISTS, TYPE, TTL.
-- params: $1 key, $2 field (null: all fields of the key), $3 now
-- returns: ordinal, field, value, expires_at; in no order
-- index: library_value_pkey
select k.ordinal::integer, f.field, f.value, f.expires_at
from unnest($1::bytea[], $2::bytea[]) with ordinality as k (key, field, ordinal)
cross join lateral (
    (
        select v.field, v.value, v.expires_at
        from pgdisque.library_value as v
        where v.key = k.key
          and v.field = k.field
    )
    union all
    (
        select v.field, v.value, v.expires_at
        from pgdisque.library_value as v
        where v.key = k.key
          and k.field is null
    )
) as f
where f.expires_at > $3::timestamptz
