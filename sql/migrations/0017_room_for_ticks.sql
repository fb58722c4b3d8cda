-- Room in the pages of schedules.

set local search_path = pg_catalog, pg_temp;

-- While an old snapshot keeps the versions of a schedule, a tick needs no index entry if the page has room for its
-- version. Schedules with ticks at the same time share pages. So a page takes few of them.
alter table pgdisque.schedule set (fillfactor = 10);
