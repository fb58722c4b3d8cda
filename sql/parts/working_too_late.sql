-- working_too_late(job, created_at, token, now): half of the life is over, so that WORKING needs a token
--
-- This is Disque's rule. A token proves that the caller has the last delivery, and its lease may last until the end of
-- the life.
coalesce(:token, 0) = 0 and :now - :created_at > (:job.expires_at - :created_at) / 2
