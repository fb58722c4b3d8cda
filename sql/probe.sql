-- Checks whether a session of this server works, or waits for the server to send or receive data. It is the
-- only statement of its connection, so every name has its schema.
-- params: $1 application_name
-- returns: waits, one row; null if there is no such session
select pg_catalog.bool_and(coalesce(
    a.state operator(pg_catalog.~~) 'idle%' or a.wait_event_type operator(pg_catalog.=) 'Client', false)) as waits
from pg_catalog.pg_stat_activity as a
where a.application_name operator(pg_catalog.=) $1::text
  and a.usename operator(pg_catalog.=) current_user
  and a.datname operator(pg_catalog.=) pg_catalog.current_database()
