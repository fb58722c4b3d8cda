-- revived_until(job, now): when a dead job expires after it was revived
--
-- If the time to live is over, it begins again.
case when :job.expires_at > :now then :job.expires_at else {{renewed(:job, :now)}} end
