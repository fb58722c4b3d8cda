-- dies_expired(job): the expired job becomes a dead letter
--
-- The elements of a list that EXPIRE has dated do not, nor do cancelled jobs.
(:job.own_expires_at is null and :job.attempts is distinct from 0 and exists (
    select from pgdisque.queue_setting as s
    where s.queue_id = :job.queue_id
      and s.name = 'expired'
      and s.value = 'dead'
))
