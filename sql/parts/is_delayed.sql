-- is_delayed(job): its delay has not ended
:job.wake_at = :job.ready_at and :job.owner is null
