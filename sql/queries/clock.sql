-- Reads the clock of the database.
-- returns: now
select clock_timestamp() as now
