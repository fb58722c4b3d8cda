-- metadata(job): the columns of metadata_columns() of this row
:job.headers, :job.progress, :job.errors
