-- popped(job): the result columns of a job that a list command takes; put_back_jobs can insert it again
:job.rank, :job.id, :job.ready_at, :job.expires_at, :job.retry, :job.nacks, :job.additional_deliveries, :job.body,
:job.deliveries, :job.attempts, :job.backoff, :job.deadqueue, :job.error, :job.unique_key, :job.unique_until,
:job.group_key, {{metadata(:job)}}, :job.delay, :job.replicate, :job.own_expires_at, :job.unique_start, :job.in_flow
