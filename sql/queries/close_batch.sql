-- Closes a batch: BATCH CLOSE.
-- params: $1 id (also of a job of the batch)
-- returns: id (of the batch), was_open; or no row
-- locks: the batch
-- index: batch_pkey, flow_job_pkey
with found as materialized (
    select b.id, b.closed_at is null as was_open
    from pgdisque.batch as b
    where b.id = {{named_batch($1::bigint)}}
    for no key update of b
),
closed as (
    update pgdisque.batch as b
    set closed_at = clock_timestamp()
    from found as f
    where b.id = any (array[f.id])
      and f.was_open
)
select f.id, f.was_open
from found as f
