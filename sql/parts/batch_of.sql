-- batch_of(id, key): the ID of the batch of a job, or null; key: the secret
(
    select
        pgdisque.api_id(
            :key, m.id, b.queue_id, b.rank, b.id,
            pgdisque.api_created_at(b.id) + 2147483647 * interval '1 second', b.retry)
    from pgdisque.flow_job as f
    join pgdisque.batch as b on b.id = f.batch_id
    left join pgdisque.node as m on m.number = pgdisque.api_node(b.id)
    where f.id = :id
)
