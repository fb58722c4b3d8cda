--! breaking
-- Which migrations older servers must not run on, where they were applied before that was noted; the version of the
-- functions for applications, so that an older server leaves those of a newer one; and other IDs of jobs.

set local search_path = pg_catalog, pg_temp;

update pgdisque.migration
set breaking = true
where version in (2, 5, 7, 11, 12, 13, 14, 15, 16, 17, 18, 20);

alter table pgdisque.api add column version integer not null default 0;
