-- is_dead_letter(job): the job of a workflow or batch is a dead letter
exists (
    select
    from pgdisque.dead_job as d
    where d.queue_id = any (array[:job.queue_id]) and d.rank = :job.rank and d.id = :job.id
)
