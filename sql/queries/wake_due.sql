-- Wakes delayed jobs whose time has come: sets wake_at to their expiry. In a queue that is paused in, jobs with
-- a retry time are delayed again by that time.
-- params: $1 from (wake_at later than), $2 now, $3 limit, $4 ids of queues paused in
-- returns: queue_id, rank, id, ready_at
-- locks: the rows; skips locked rows
-- index: job_wake, then by ctid
update pgdisque.job as j
set wake_at = case
        when j.retry > 0 and j.queue_id = any ($4::integer[])
            then least($2::timestamptz + j.retry * interval '1 second', j.expires_at)
        else j.expires_at
    end,
    ready_at = case
        when j.retry > 0 and j.queue_id = any ($4::integer[])
            then least($2::timestamptz + j.retry * interval '1 second', j.expires_at)
        else j.ready_at
    end
where j.ctid = any (array(
    select d.ctid
    from pgdisque.job as d
    where d.wake_at > $1::timestamptz
      and d.wake_at <= $2::timestamptz
      and d.expires_at > $2::timestamptz
    order by d.wake_at
    limit $3::integer
    for update skip locked
))
returning j.queue_id, j.rank, j.id, j.ready_at
