-- additional(job, now): its additional deliveries
--
-- The end of a lease writes nothing, so this delivery is counted here.
:job.additional_deliveries
    + case when :job.owner is not null and :job.ready_at <= :now then 1 else 0 end
