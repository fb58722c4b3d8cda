-- Writes the commit marker of a transaction. If the result of the transaction is lost, the marker shows that it
-- was committed. forget_flights deletes it later.
-- params: $1 node, $2 flight
-- index: flight_pkey
insert into pgdisque.flight (node, flight)
values ($1::smallint, $2::bigint)
