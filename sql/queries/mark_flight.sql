-- Shows that the transaction was committed, should its answer be lost. For a while: see forget_flights.
-- params: $1 node, $2 flight
-- index: flight_pkey
insert into pgdisque.flight (node, flight)
values ($1::smallint, $2::bigint)
