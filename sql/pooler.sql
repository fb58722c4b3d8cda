-- Which session is this, how long may it be idle, and how long from now on? A pooler may stand before it.
-- params: $1 idle_session_timeout
-- returns: session, patience as it was until now; one row
select
    pg_catalog.pg_backend_pid() as session,
    pg_catalog.current_setting('idle_session_timeout') as patience,
    pg_catalog.set_config('idle_session_timeout', $1::text, false)
