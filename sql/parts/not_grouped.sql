-- not_grouped(job): the job does not wait for its turn in a group
(:job.ready_at < 'infinity' or :job.owner is not null or :job.group_key is null)
