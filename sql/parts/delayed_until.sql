-- delayed_until(job, delay, now): the end of the delay after a NACK; null: the job is queued at once
--
-- delay is in seconds, and null for the back-off of the job. An exhausted job is not delayed.
case
    when {{is_exhausted(:job)}} or :delay = 0 or coalesce(:delay, :job.backoff) is null then null
    else least(
        :job.expires_at - interval '1 millisecond',
        :now + interval '1 second' * coalesce(
            :delay,
            {{backoff(:job, :job.deliveries)}}
        )
    )
end
