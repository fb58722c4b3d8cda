-- lease(job, now, node, worker): sets the columns that a delivery changes; none of them has an index
--
-- A job with retry 0 is leased for ever, which makes it at most once. An exhausted job is not leased: its ready_at
-- stays.
ready_at = case
        when {{is_exhausted(:job)}} then :job.ready_at
        when :job.retry = 0 then 'infinity'
        else :now + interval '1 second' * (
            :job.retry
            + {{lease_wait(:job, :job.deliveries + 1)}}
        )
    end,
    leased_at = case when :job.backoff is not null then :now end,
    deliveries = :job.deliveries + case when {{is_exhausted(:job)}} then 0 else 1 end,
    additional_deliveries = :job.additional_deliveries
        + case when :job.owner is null or {{is_exhausted(:job)}} then 0 else 1 end,
    owner = case when {{is_exhausted(:job)}} then :job.owner else :node end,
    worker = :worker,
    errors = case
        when :job.owner is null or :job.deliveries = 0 or {{is_exhausted(:job)}} then :job.errors
        else {{lease_ended(:job)}}
    end
