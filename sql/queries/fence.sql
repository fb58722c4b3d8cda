-- Writes an empty message to the write-ahead log. If its commit is on the standbys, so are all earlier commits.
-- params: $1 synchronous_commit
-- returns: set_config, pg_logical_emit_message; not read
select
    set_config('synchronous_commit', $1::text, true),
    pg_logical_emit_message(true, 'pgdisque', ''::text)
