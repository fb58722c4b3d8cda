-- Removes all jobs: DEBUG FLUSHALL, CLUSTER RESET. Queues lose their rows later, as unused ones.
-- locks: the tables, exclusively
truncate pgdisque.job, pgdisque.queue_counter
