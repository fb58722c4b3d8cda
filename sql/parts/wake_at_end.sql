-- wake_at_end(job): its wake_at without a delay: the end of a time to live of its own; null: it has the default one
case when :job.wake_at is null then null else :job.expires_at end
