-- Setting of the connection for long reads, after session.sql: the statements of a transaction read one snapshot.
-- returns: one row, which is not read
select pg_catalog.set_config('default_transaction_isolation', 'repeatable read', false)
