-- Deletes the dead jobs of a queue, in key order: DELDEAD.
-- params: $1 to $10 as revive_queue
-- returns: rank, id, deleted (the number of deleted jobs); one row: the last job that the statement looked at
-- locks: the rows; skips locked rows
-- index: dead_pkey, then by ctid
with {{dead_page()}},
gone as (
    delete from pgdisque.dead_job as d
    using found as f
    where d.queue_id = any (array[$1::integer])
      and d.rank = f.rank
      and d.id = f.id
    returning d.id
)
select l.rank, l.id, (select count(*) from gone) as deleted
from looked as l
