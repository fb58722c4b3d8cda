-- queued(job, now): the job is in its queue, see "The life of a row" in sql/README.md
{{ready(:job, :now)}}
and {{has_attempts(:job)}}
