--! breaking
-- At which end of the list of its name a queue's jobs leave: 1 left, 2 right; null: nobody has used it as a list.

set local search_path = pg_catalog, pg_temp;

alter table pgdisque.queue add column front smallint check (front in (1, 2));
