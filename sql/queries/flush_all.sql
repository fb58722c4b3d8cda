-- Deletes all jobs and all settings of queues: DEBUG FLUSHALL, CLUSTER RESET. The rows of the queues are
-- deleted later, because they are unused.
-- locks: the tables, exclusively
truncate pgdisque.job, pgdisque.dead_job, pgdisque.queue_counter, pgdisque.queue_setting, pgdisque.unique_key,
pgdisque.slot,
    pgdisque.bucket, pgdisque.job_group, pgdisque.retained
