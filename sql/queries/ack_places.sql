-- Deletes jobs whose rows are at known places: ACKJOB at half the cost of ack_jobs. A job whose row has moved stays.
-- The server then deletes it by ack_jobs.
-- params: $1 queue_id, $2 rank, $3 id, $4 place (ctid), $5 now
-- returns: as ack_jobs
-- locks: the rows, in the order of the parameters; a deadlock is repeated by the server
-- single: ack_place
-- index: none, by ctid. The key is compared in a form that no index can answer, because another job may have got the
--        place.
delete from pgdisque.job as j
using unnest($1::integer[], $2::smallint[], $3::bigint[], $4::tid[])
    with ordinality as k (queue_id, rank, id, place, ordinal)
where j.ctid = k.place
  and (j.id = k.id and j.rank = k.rank and j.queue_id = k.queue_id and j.expires_at > $5::timestamptz) is true
returning
    k.ordinal::integer,
    {{queued_since(j, $5::timestamptz)}} as queued_since,
    j.group_key, j.in_flow
