-- named_batch(id): the batch with the id, or the batch of the job with the id
(
    select coalesce(
        (select o.id from pgdisque.batch as o where o.id = :id),
        (select f.batch_id from pgdisque.flow_job as f where f.id = :id))
)
