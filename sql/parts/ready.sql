-- ready(job, now): the job can be delivered, or it is exhausted
--
-- A delayed job is not ready even if its time has come: only wake_due makes it ready.
{{is_due(:job, :now)}}
and :job.wake_at is distinct from :job.ready_at
