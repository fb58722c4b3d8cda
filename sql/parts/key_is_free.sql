-- key_is_free(job, now): the job does not hold its unique key: it has expired, or its key was taken until its first
-- delivery (UNTIL START)
(
    :job.expires_at <= :now
    or (:job.unique_start and :job.deliveries + :job.nacks + :job.additional_deliveries > 0)
) is true
