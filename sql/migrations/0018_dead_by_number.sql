-- Dead letters by time, from indexes that no statement about single jobs can use.

set local search_path = pg_catalog, pg_temp;

-- Postgres expects an empty table after VACUUM has found no dead letter. It may then find a dead letter by the last
-- column of an index, which reads the whole index. So this column is an expression, too.
drop index pgdisque.dead_died;
create index dead_died on pgdisque.dead_job ((queue_id::bigint), died_at, (id + 0));
drop index pgdisque.dead_newest;
create index dead_newest on pgdisque.dead_job ((died_at at time zone 'UTC'), (id + 0));
