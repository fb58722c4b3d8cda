-- is_leased(job, now): a client has the job, or it waits for its back-off
:job.owner is not null
and :job.ready_at > :now
