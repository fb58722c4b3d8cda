-- Wakes delayed jobs whose time has come: sets wake_at to their expiry. In a queue that is paused in, jobs with
-- a retry time are delayed again by that time. The jobs leave their sorted sets.
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
    end,
    sorted_set = null
where j.ctid = any (array(
    select d.ctid
    from (
        {{due_rows()}}
    ) as d
    where d.expires_at > $2::timestamptz
))
returning j.queue_id, j.rank, j.id, j.ready_at
