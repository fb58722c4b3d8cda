-- Removes jobs of one queue and rank that were added at about the same time, in whatever state they are:
-- ack_jobs at two thirds of its cost.
-- params: $1 queue_id, $2 rank, $3 id (array), $4 and $5 their least and greatest or beyond, $6 now
-- returns: id, queued_since (infinity: it was delayed or leased for ever); in no order
-- locks: the rows, in the order of the index; a deadlock is repeated by the server
-- index: job_pkey. When the table was empty at the last vacuum, the planner looks at all jobs between these:
-- few, since they were added at about the same time.
delete from pgdisque.job as j
where j.queue_id = $1::integer
  and j.rank = $2::smallint
  and j.id = any ($3::bigint[])
  and j.id between $4::bigint and $5::bigint
  and j.expires_at > $6::timestamptz
returning j.id, case when j.wake_at = j.ready_at then 'infinity' else j.ready_at end as queued_since
