-- Reads which of these transactions were committed.
-- params: $1 node, $2 flight
-- returns: flight
-- index: flight_pkey
select f.flight
from unnest($2::bigint[]) as k (flight)
join pgdisque.flight as f on f.node = $1::smallint and f.flight = k.flight
