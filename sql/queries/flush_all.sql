-- Deletes all jobs, all settings of queues and all values of client libraries: DEBUG FLUSHALL, CLUSTER RESET. The
-- rows of the queues are deleted later, because they are unused.
-- locks: the tables, exclusively
truncate pgdisque.job, pgdisque.dead_job, pgdisque.queue_counter, pgdisque.queue_setting, pgdisque.unique_key,
pgdisque.slot,
    pgdisque.bucket, pgdisque.job_group, pgdisque.retained, pgdisque.library_value, pgdisque.flow_job,
    pgdisque.dependency, pgdisque.waiting_job, pgdisque.batch
