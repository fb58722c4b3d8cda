-- not_leased(job, now): no client has the job, and it does not wait for its back-off; also true for a job that waits
(:job.ready_at <= :now or :job.owner is null)
