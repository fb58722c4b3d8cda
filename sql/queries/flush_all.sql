-- Removes all jobs, and what queues were set to: DEBUG FLUSHALL, CLUSTER RESET. Queues lose their rows later, as unused ones.
-- locks: the tables, exclusively
truncate pgdisque.job, pgdisque.dead_job, pgdisque.queue_counter, pgdisque.queue_setting, pgdisque.unique_key, pgdisque.slot,
    pgdisque.bucket, pgdisque.job_group, pgdisque.finished
