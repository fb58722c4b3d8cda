-- has_attempts(job): the job has an attempt left, or no limit
(:job.deliveries >= :job.attempts) is not true
