-- metadata(job): the same columns of a row
:job.headers, :job.progress, :job.errors
