-- Sends a message to the other servers. The commit does not wait for the flush, because messages are hints, and
-- a commit with NOTIFY delays all others.
-- params: $1 text
-- returns: session (a server recognises its own messages by it), and two unused columns
select
    pg_catalog.pg_backend_pid() as session,
    pg_catalog.set_config('synchronous_commit', 'off', true),
    pg_catalog.pg_notify('pgdisque', $1::text)
