-- dies_expired(job): the expired job becomes a dead letter
--
-- The elements of a list that EXPIRE has dated do not, nor do cancelled jobs.
(:job.own_expires_at is null and not {{is_cancelled(:job)}} and {{keeps_expired(:job.queue_id)}})
