-- Ends what is left of an earlier session under the same name, and of the session for large requests, which has that
-- name and a word more: until it has ended, it could still commit what
-- it was doing when its connection died, behind our back.
-- returns: gone, a row per such session; false when it still runs
select pg_terminate_backend(a.pid, 5000) as gone
from pg_stat_activity as a
where a.application_name in (current_setting('application_name'), current_setting('application_name') || ' large')
  and a.usename = current_user
  and a.datname = current_database()
  and a.pid <> pg_backend_pid()
