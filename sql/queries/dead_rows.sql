-- About how many dead rows vacuum has left: it may be held back by somebody's old transaction.
-- returns: jobs, counters
select
    pg_stat_get_dead_tuples('pgdisque.job'::regclass) as jobs,
    pg_stat_get_dead_tuples('pgdisque.queue_counter'::regclass) as counters
