-- is_in_flow(job): true if the job has a row in pgdisque.flow_job, else null
(select true from pgdisque.flow_job as flow where flow.id = any (array[:job.id]))
