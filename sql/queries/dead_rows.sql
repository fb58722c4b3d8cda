-- Estimates the dead rows that vacuum has left. An old transaction may hold back vacuum.
-- returns: jobs, counters
select
    pg_stat_get_dead_tuples('pgdisque.job'::regclass) as jobs,
    pg_stat_get_dead_tuples('pgdisque.queue_counter'::regclass) as counters
