-- Ends expired jobs with a delay, or with a time to live other than the default. They are deleted, or become dead
-- letters.
-- params: $1 from (wake_at later than), $2 now, $3 limit
-- returns: queue_id, rank, id, queued_since (as ack_jobs), expires_at, retry, group_key, is_dead, in_flow
-- locks: the rows; skips locked rows
-- index: job_wake, then by ctid; flow_job_pkey
with gone as (
    delete from pgdisque.job as j
    where j.ctid = any (array(
        select d.ctid
        from (
            {{due_rows()}}
        ) as d
        where d.expires_at <= $2::timestamptz
    ))
    returning j.*, {{dies_expired(j)}} as is_dead
),
{{end_expired($2::timestamptz)}}
