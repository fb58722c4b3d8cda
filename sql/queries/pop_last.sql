-- Deletes the last ready jobs of a queue, for list commands that pop at the end that is not the consume end.
-- Exhausted jobs are skipped.
-- params: $1 queue_id, $2 limit, $3 now
-- returns: rank, id, ready_at, expires_at, retry, nacks, extras, body, deliveries,
--          attempts, backoff, deadqueue, error, unique_key, unique_until, group_key; in no order
-- locks: the rows; skips locked rows
-- index: job_pkey backwards, then by ctid
delete from pgdisque.job as j
where j.ctid = any (array(
    select r.ctid
    from pgdisque.job as r
    where r.queue_id = $1::integer
      and {{queued(r, $3::timestamptz)}}
    order by r.rank desc, r.id desc
    limit $2::integer
    for update skip locked
))
returning
    j.rank, j.id, j.ready_at, j.expires_at, j.retry, j.nacks, j.extras, j.body, j.deliveries,
    j.attempts, j.backoff, j.deadqueue, j.error, j.unique_key, j.unique_until, j.group_key
