-- lease_ended(job): its failures with the end of its last lease
pgdisque.lease_ended(:job.errors, :job.ready_at, :job.deliveries)
