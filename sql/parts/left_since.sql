-- left_since(job): the end of the job's last lease, or one of two times for a job that had no lease
--
-- Year 290000 (TIME_DELAYED): the job was delayed. Year 290001 (TIME_WAITING): it waited for its turn.
case
    when {{is_delayed(:job)}} then '290000-01-01 00:00:00+00'
    when {{waits_in_group(:job)}} then '290001-01-01 00:00:00+00'
    else :job.ready_at
end
