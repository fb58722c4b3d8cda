-- Deletes expired jobs with a delay, or with a time to live other than the default.
-- params: $1 from (wake_at later than), $2 now, $3 limit
-- returns: queue_id, rank, id, queued_since (infinity: it was delayed or leased for ever; -infinity: its
--          attempts were used up), expires_at, retry, group_key
-- locks: the rows; skips locked rows
-- index: job_wake, then by ctid
delete from pgdisque.job as j
where j.ctid = any (array(
    select d.ctid
    from pgdisque.job as d
    where d.wake_at > $1::timestamptz
      and d.wake_at <= $2::timestamptz
      and d.expires_at <= $2::timestamptz
    order by d.wake_at
    limit $3::integer
    for update skip locked
))
returning
    j.queue_id, j.rank, j.id,
    case
        when j.wake_at = j.ready_at and j.wake_at < j.expires_at then 'infinity'
        when j.deliveries >= j.attempts and j.ready_at <= $2::timestamptz then '-infinity'
        else j.ready_at
    end as queued_since,
    j.expires_at, j.retry, j.group_key
