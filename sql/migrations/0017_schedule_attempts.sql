--! breaking
-- Jobs that recur may be delivered only so often, too.

set local search_path = pg_catalog, pg_temp;

alter table pgdisque.schedule
    add column attempts integer,
    add column backoff integer,
    add column deadqueue bytea;
