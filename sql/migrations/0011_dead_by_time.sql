-- Dead letters by the time at which they died, for JSCAN ORDER newest.

set local search_path = pg_catalog, pg_temp;

-- The columns of both indexes are unique, so that a page begins behind any job. Their first columns are expressions, so
-- that Postgres does not use them for statements that name keys or a sorted set.
drop index pgdisque.dead_died;
create index dead_died on pgdisque.dead_job ((queue_id::bigint), died_at, id);
create index dead_newest on pgdisque.dead_job ((died_at at time zone 'UTC'), id);
