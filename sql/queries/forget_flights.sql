-- Deletes the commit markers of transactions whose results have arrived.
-- params: $1 node, $2 flight (the first transaction without a result)
-- locks: the rows
-- index: flight_pkey
delete from pgdisque.flight as f
where f.node = $1::smallint
  and f.flight < $2::bigint
