-- Numbers the runs of servers. Not by the clock: that may be set back.

set local search_path = pg_catalog, pg_temp;

create sequence pgdisque.node_run;
