-- Deletes the dead jobs of a queue, in key order: DELDEAD.
-- params: $1 to $10 as revive_queue
-- returns: rank, id, deleted (the number of deleted jobs); one row: the last job that the statement looked at
-- locks: the rows; skips locked rows
-- index: dead_pkey, then by ctid
with {{dead_page()}},
gone as (
    delete from pgdisque.dead_job as d
    where d.ctid = any ({{places_of_dead(found, $1)}})
    returning d.id
)
select l.rank, l.id, (select count(*) from gone) as deleted
from looked as l
