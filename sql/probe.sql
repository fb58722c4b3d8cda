-- Does a session of ours do something for us, or does it wait for what we send, or for us to take what it sends?
-- params: $1 application_name
-- returns: waits, one row; null when there is no such session
select bool_and(coalesce(a.state like 'idle%' or a.wait_event_type = 'Client', false)) as waits
from pg_stat_activity as a
where a.application_name = $1::text
  and a.usename = current_user
  and a.datname = current_database()
