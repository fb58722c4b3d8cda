-- matches(job, headers, error): the job has all these headers, and its last error contains the text. A null in headers
-- stands for any text. Null: any job
(:headers::jsonb is null or :job.headers @> jsonb_strip_nulls(:headers::jsonb)
    and :job.headers ?& array(select jsonb_object_keys(:headers::jsonb)))
and (:error::bytea is null or position(:error::bytea in :job.error) > 0)
