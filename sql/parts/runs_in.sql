-- runs_in(job, place, now): the job has the concurrency slot and its lease
:job.slot = :place.n
and :job.ready_at > :now
and :job.expires_at > :now
