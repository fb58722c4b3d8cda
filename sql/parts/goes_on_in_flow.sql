-- goes_on_in_flow(job): is_in_flow of a dead letter that is revived
--
-- If is_changed, a row in pgdisque.flow_job may be newer than the statement: add_in_flow changes a dead letter that it
-- gives a row. resume then makes sure that there is a row.
{{is_in_flow(:job)}} or nullif(:job.is_changed, false)
