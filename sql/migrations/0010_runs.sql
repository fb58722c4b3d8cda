-- Numbers the runs of servers. Not by the clock: that may be set back.

create sequence pgdisque.node_run;
