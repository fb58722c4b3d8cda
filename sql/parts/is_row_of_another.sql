-- is_row_of_another(job): the row in flow_job is that of a job in another queue whose end is not yet counted
exists (
    select
    from pgdisque.flow_job as o
    where o.id = any (array[:job.id])
      and (o.queue_id <> :job.queue_id or o.rank <> :job.rank)
      and not o.is_settled
)
