-- created_at(id): the time in the id of a job
--
-- A negative id belongs to a job at the consume end of a list. Its absolute value has the time.
timestamptz '2020-01-01 00:00:00+00' + (abs(:id) >> 22) * interval '1 millisecond'
