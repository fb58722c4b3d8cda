-- Adds jobs with rare properties: add_jobs with one more parameter. Plain jobs do not pay for it.
-- params: as add_jobs, then $16 rare (an object: "headers")
-- index: job_pkey; job_wake for delayed jobs and jobs with a time to live other than the default
{{insert_rare()}}
