-- metadata_bytes(job): about the bytes of the columns of metadata in a result
coalesce(octet_length(:job.headers::text), 0) + coalesce(octet_length(:job.progress::text), 0)
    + coalesce(octet_length(:job.errors::text), 0)
