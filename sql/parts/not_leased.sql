-- not_leased(job, now): the opposite of is_leased, also for a job that waits
(:job.ready_at <= :now or :job.owner is null)
