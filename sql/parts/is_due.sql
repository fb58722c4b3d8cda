-- is_due(job, now): the job's time has come, and it has not expired
:job.ready_at <= :now
and :job.expires_at > :now
