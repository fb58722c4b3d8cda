-- The database's clock.
-- returns: now
select clock_timestamp() as now
