-- queued_since(job, now): the end of the job's last lease or delay, to count a deleted job
--
-- infinity: it was delayed or leased for ever. -infinity: its attempts were used up, see dead_letter_jobs.
case
    when :job.wake_at = :job.ready_at then 'infinity'
    when :job.deliveries >= :job.attempts and :job.ready_at <= :now then '-infinity'
    else :job.ready_at
end
