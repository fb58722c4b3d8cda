-- When commits count as done: of the session, or of this transaction alone.
-- params: $1 synchronous_commit, $2 this transaction alone
-- returns: one row that nobody reads
select set_config('synchronous_commit', $1::text, $2::boolean)
