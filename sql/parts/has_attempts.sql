-- has_attempts(job): the job has an attempt left, or no limit
({{is_exhausted(:job)}}) is not true
