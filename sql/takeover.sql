-- Ends earlier sessions with the same application name. The write connection also ends the earlier session for large
-- requests. Such a session could still commit the transaction that it ran when its connection was lost.
-- returns: gone, a row per session; false if it still runs
select pg_terminate_backend(a.pid, 5000) as gone
from pg_stat_activity as a
where a.application_name in (
      current_setting('application_name'),
      regexp_replace(current_setting('application_name'), ' write$', ' large'))
  and a.usename = current_user
  and a.datname = current_database()
  and a.pid <> pg_backend_pid()
