-- Wakes delayed jobs whose time has come: sets wake_at to their expiry. In a queue that is paused in, jobs with
-- a retry time are delayed again by that time. The jobs leave their sorted sets.
-- params: $1 queue_id, $2 rank, $3 id, $4 now, $5 ids of queues paused in
-- returns: queue_id, rank, id, ready_at, wake_at
-- locks: the rows; skips locked rows
-- index: job_pkey, then by ctid
update pgdisque.job as j
set wake_at = case
        when j.retry > 0 and j.queue_id = any ($5::integer[])
            then least($4::timestamptz + j.retry * interval '1 second', j.expires_at)
        else j.expires_at
    end,
    ready_at = case
        when j.retry > 0 and j.queue_id = any ($5::integer[])
            then least($4::timestamptz + j.retry * interval '1 second', j.expires_at)
        else j.ready_at
    end,
    sorted_set = null
where j.ctid = any (array(
    {{due_rows(>)}}
))
returning j.queue_id, j.rank, j.id, j.ready_at, j.wake_at
