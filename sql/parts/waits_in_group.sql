-- waits_in_group(job): it waits for the job before it in its group
:job.ready_at = 'infinity' and :job.owner is null
