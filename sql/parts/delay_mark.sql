-- delay_mark(job): the delay of the job in seconds, or -1 - delay if this delivery is its last attempt
--
-- Null: there is no delay, and this delivery is not the last attempt. So most results have no bytes for it.
case when {{is_exhausted(:job)}} then -1 - :job.delay else nullif(:job.delay, 0) end
