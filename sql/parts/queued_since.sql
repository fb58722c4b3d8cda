-- queued_since(job, now): the end of the job's last lease, or what it was instead, to count a deleted job
--
-- infinity: it was leased for ever. -infinity: its attempts were used up, see dead_letter_jobs. Else as left_since.
case
    when {{is_exhausted(:job)}} and :job.ready_at <= :now then '-infinity'
    else {{left_since(:job)}}
end
