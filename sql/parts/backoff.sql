-- backoff(job, deliveries): the seconds before the next delivery, after that many deliveries
--
-- Up to an eighth is added. Jobs that failed together then come back at different times. job_backoff_us() is the
-- same in C.
least(3600, :job.backoff * 2 ^ least(greatest(:deliveries - 1, 0), 12)
    * (1 + abs(:job.id % 1009 * (:deliveries)) % 1009 / 8064.0))
