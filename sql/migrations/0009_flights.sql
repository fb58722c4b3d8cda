-- Which transactions of several servers were committed: for the server that lost the answer.

set local search_path = pg_catalog, pg_temp;

create table pgdisque.flight (
    node   smallint not null,
    flight bigint not null,
    primary key (node, flight)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
