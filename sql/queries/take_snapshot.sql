-- Takes the snapshot of a transaction that reads one (snapshots.sql).
-- returns: taken
select true as taken
