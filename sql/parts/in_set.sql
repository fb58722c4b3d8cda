-- in_set(job, now): the job is a member of its sorted set: it is delayed and has not expired
:job.wake_at = :job.ready_at
and :job.expires_at > :now
