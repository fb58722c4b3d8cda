-- The table that pg_dump or pg_restore copies now.
-- params: $1 its application_name
-- returns: name, rows so far; or no row
select p.relid::text, p.tuples_processed
from pg_stat_clear_snapshot(), pg_stat_progress_copy as p
join pg_stat_activity as a on a.pid = p.pid
where a.application_name = $1
