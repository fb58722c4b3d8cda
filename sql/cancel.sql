-- Cancels the statement that a session of this server executes. A session that waits for a lock, the disk or a standby
-- is not at fault. This is the only statement of its connection, so every name has its schema.
-- params: $1 application_name
-- returns: is_cancelled, a row for each such session that executes a statement
select pg_catalog.pg_cancel_backend(a.pid) as is_cancelled
from pg_catalog.pg_stat_activity as a
where a.application_name operator(pg_catalog.=) $1::text
  and a.usename operator(pg_catalog.=) current_user
  and a.datname operator(pg_catalog.=) pg_catalog.current_database()
  and a.state operator(pg_catalog.=) 'active'
  and coalesce(a.wait_event_type, 'Client') operator(pg_catalog.=) 'Client'
