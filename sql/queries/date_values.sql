-- Sets when the fields of a key of a client library expire: EXPIRE.
-- params: $1 key, $2 expires_at, $3 now, $4 only if the fields do not expire
-- returns: dated; a row for each field
-- locks: the rows; waits; a deadlock is repeated by the server
-- index: library_value_pkey
update pgdisque.library_value as v
set expires_at = $2::timestamptz
where v.key = $1::bytea
  and v.expires_at > $3::timestamptz
  and (not $4::boolean or v.expires_at = 'infinity')
returning true as dated
