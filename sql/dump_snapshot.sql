-- Gives the snapshot of the transaction to pg_dump.
-- returns: the name of the snapshot
select pg_export_snapshot()
