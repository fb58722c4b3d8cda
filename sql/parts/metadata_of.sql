-- metadata_of(job, wanted): the columns of metadata, or nulls
case when :wanted::boolean then :job.headers end as headers,
case when :wanted::boolean then :job.progress end as progress,
case when :wanted::boolean then :job.errors end as errors
