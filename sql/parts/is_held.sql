-- is_held(waiting): a predecessor of the waiting job has failed and can be revived: ON FAIL hold
(
    :waiting.holds
    and exists (
        select
        from pgdisque.dependency as d
        join pgdisque.flow_job as f on f.id = any (array[d.predecessor_id])
        where d.successor_id = :waiting.id
          and not d.is_counted
          and f.ended_at is not null
    )
)
