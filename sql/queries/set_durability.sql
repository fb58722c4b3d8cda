-- Sets synchronous_commit for the session, or for the current transaction only.
-- params: $1 synchronous_commit, $2 current transaction only
-- returns: set_config; not read
select set_config('synchronous_commit', $1::text, $2::boolean)
