-- Writes to the log what says nothing: when this is committed on the standbys, so is everything before it.
-- params: $1 synchronous_commit
-- returns: one row that nobody reads
select
    set_config('synchronous_commit', $1::text, true),
    pg_logical_emit_message(true, 'pgdisque', ''::text)
