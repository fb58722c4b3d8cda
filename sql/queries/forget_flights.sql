-- Whose answers were received is known.
-- params: $1 node, $2 flight (the first whose answer is not)
-- locks: the rows
-- index: flight_pkey
delete from pgdisque.flight as f
where f.node = $1::smallint
  and f.flight < $2::bigint
