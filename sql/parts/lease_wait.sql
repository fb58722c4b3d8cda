-- lease_wait(job, deliveries): the seconds by which the back-off extends the lease of that delivery
case
    when :job.backoff is null or :deliveries >= :job.attempts then 0
    else {{backoff(:job, :deliveries)}}
end
