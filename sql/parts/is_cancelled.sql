-- is_cancelled(job): CANCEL has marked this running job
--
-- The mark is in attempts: the negative number of its attempts, or 0 if it has no limit. Such a job is exhausted, so
-- no statement delivers it again.
coalesce(:job.attempts <= 0, false)
