-- Deletes dead jobs: DELJOB, and a late ACKJOB.
-- params: $1 queue_id, $2 rank, $3 id, $4 token (0: none; otherwise it must be that of the last delivery)
-- returns: ordinal
-- locks: the rows, in the order of the parameters; a deadlock is repeated by the server
-- index: dead_pkey
delete from pgdisque.dead_job as d
using unnest($1::integer[], $2::smallint[], $3::bigint[], $4::bigint[])
    with ordinality as k (queue_id, rank, id, token, ordinal)
where d.queue_id = any (array[k.queue_id])
  and d.rank = k.rank
  and d.id = k.id
  and k.token in (0, {{token(d)}})
returning k.ordinal::integer
