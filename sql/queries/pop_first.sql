-- Deletes the next ready jobs of a queue after a key, for list commands: delivery and acknowledgement at once.
-- Exhausted jobs are skipped.
-- params: $1 queue_id, $2 rank, $3 id (the key, excluded), $4 limit, $5 now
-- returns: rank, id, ready_at, expires_at, retry, nacks, extras, body, deliveries,
--          attempts, backoff, deadqueue, error, unique_key, unique_until, group_key; in no order
-- locks: the rows; skips locked rows
-- index: job_pkey, then by ctid
delete from pgdisque.job as j
where j.ctid = any (array(
    select r.ctid
    from pgdisque.job as r
    where r.queue_id = $1::integer
      and (r.rank, r.id) > ($2::smallint, $3::bigint)
      and {{queued(r, $5::timestamptz)}}
    order by r.rank, r.id
    limit $4::integer
    for update skip locked
))
returning
    j.rank, j.id, j.ready_at, j.expires_at, j.retry, j.nacks, j.extras, j.body, j.deliveries,
    j.attempts, j.backoff, j.deadqueue, j.error, j.unique_key, j.unique_until, j.group_key
