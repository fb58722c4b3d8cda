-- Reads the session's process and idle timeout, and sets the timeout. A connection pooler may change them.
-- params: $1 idle_session_timeout
-- returns: session, patience (the timeout so far); one row
select
    pg_catalog.pg_backend_pid() as session,
    pg_catalog.current_setting('idle_session_timeout') as patience,
    pg_catalog.set_config('idle_session_timeout', $1::text, false)
