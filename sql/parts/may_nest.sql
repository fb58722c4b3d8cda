-- may_nest(batch): the batch with this number is not on the last of the 16 levels of nested batches
--
-- The last row has no batch. A condition in the join would let Postgres read the index of all jobs with a batch.
(
    with recursive level as (
        select :batch as id, 1 as depth
        union all
        select f.batch_id, l.depth + 1
        from level as l
        join pgdisque.flow_job as f on f.id = any (array[l.id])
        where l.depth < 16
    )
    select max(l.depth) < 16
    from level as l
    where l.id is not null
)
