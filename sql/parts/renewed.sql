-- renewed(job, now): the end of its time to live, if that begins again now
:now + (:job.expires_at - ({{created_at(:job.id)}}))
