-- is_exhausted(job): it was delivered as often as its attempts allow; null: it has no limit
:job.deliveries >= :job.attempts
