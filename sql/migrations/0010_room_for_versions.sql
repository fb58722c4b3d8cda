-- Room in the pages of rows that change often.

set local search_path = pg_catalog, pg_temp;

-- While an old snapshot keeps the versions of a row, only a version in another page needs an index entry. Postgres
-- compares that entry with all entries of the key. A row that moves to a new page now finds room for its next versions.
-- Both tables have few rows.
alter table pgdisque.slot set (fillfactor = 20);
alter table pgdisque.bucket set (fillfactor = 20);
