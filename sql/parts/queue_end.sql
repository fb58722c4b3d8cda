-- queue_end(): the last key of queue $1, in any state
queue_end as materialized (
    select l.rank, l.id
    from pgdisque.job as l
    where l.queue_id = $1::integer
    order by l.rank desc, l.id desc
    limit 1
)
