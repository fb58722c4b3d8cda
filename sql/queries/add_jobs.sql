-- Adds jobs. A duplicate id is an error: the server makes the ids and never uses an id twice. A job of a group waits
-- for its release (next_in_groups).
-- params: $1 id, $2 ready_at, $3 expires_at, $4 wake_at, $5 queue_id, $6 retry, $7 delay, $8 rank,
--         $9 replicate, $10 owner (not null: inserted as delivered, for a waiting client or ahead), $11 body,
--         $12 attempts, $13 backoff, $14 deadqueue (null: none), $15 group_key (null: none)
-- single: add_job
-- index: job_pkey; job_wake for delayed jobs and jobs with a time to live other than the default
{{insert_jobs()}}
