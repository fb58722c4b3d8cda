-- Deletes jobs in any state: ACKJOB.
-- params: $1 queue_id, $2 rank, $3 id, $4 now
-- returns: ordinal, queued_since (the part of that name says the times of jobs that were not queued), group_key,
--          in_flow
-- locks: the rows, in the order of the parameters; a deadlock is repeated by the server
-- single: ack_job
-- index: job_pkey
delete from pgdisque.job as j
using unnest($1::integer[], $2::smallint[], $3::bigint[]) with ordinality as k (queue_id, rank, id, ordinal)
where j.queue_id = any (array[k.queue_id])
  and j.rank = k.rank
  and j.id = k.id
  and j.expires_at > $4::timestamptz
returning
    k.ordinal::integer,
    {{queued_since(j, $4::timestamptz)}} as queued_since,
    j.group_key, j.in_flow
