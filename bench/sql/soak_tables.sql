-- Size and dead rows of each table of ours.
-- returns: table, live rows, dead rows, bytes of the table with its TOAST, bytes of its indexes
select s.relname, s.n_live_tup, s.n_dead_tup, pg_table_size(s.relid), pg_indexes_size(s.relid)
from pg_stat_user_tables as s
where s.schemaname = 'pgdisque'
order by s.relname;
