-- after_options(): the parameters that each add_job_after() and add_jobs_after() has
on_fail text default 'cancel', batch text default null, delay integer default 0, retry integer default null,
ttl integer default null, priority integer default 0, headers jsonb default null, attempts integer default null,
backoff integer default null, deadqueue text default null, group_key text default null
