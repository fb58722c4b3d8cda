-- Takes the lock of migrate_open.sql until the session ends. So no server starts or connects again during a restore.
select pg_advisory_lock(7711, 1)
