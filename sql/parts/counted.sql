-- counted(job, now): the server counts the job as queued
--
-- An expired job counts until its row is deleted. A delayed job whose time has come does not count yet, because
-- wake_due will count it.
:job.ready_at <= :now
and :job.wake_at is distinct from :job.ready_at
and {{has_attempts(:job)}}
