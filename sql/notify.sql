-- Tells the other servers. Nobody waits for the flush: what is told is a hint, and its commit holds up all others
-- that notify.
-- params: $1 text
-- returns: session, by which we know our own words when they come back; and what nobody reads
select
    pg_catalog.pg_backend_pid() as session,
    pg_catalog.set_config('synchronous_commit', 'off', true),
    pg_catalog.pg_notify('pgdisque', $1::text)
