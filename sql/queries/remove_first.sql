-- Deletes the first queued jobs of a queue with this body: LREM.
-- params: $1 queue_id, $2 rank, $3 id (no ready job is at or before this key), $4 limit, $5 now, $6 body (an
--         array of one)
-- returns: rank, id, ready_at, expires_at, retry, group_key; in no order
-- locks: the rows; skips locked rows
-- index: job_pkey, then by ctid
delete from pgdisque.job as j
where j.ctid = any (array(
    select r.ctid
    from pgdisque.job as r
    where r.queue_id = $1::integer
      and (r.rank, r.id) > ($2::smallint, $3::bigint)
      and {{queued(r, $5::timestamptz)}}
      and r.body = any ($6::bytea[])
    order by r.rank, r.id
    limit $4::integer
    for update skip locked
))
returning j.rank, j.id, j.ready_at, j.expires_at, j.retry, j.group_key
