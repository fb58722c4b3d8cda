-- Ends expired jobs with a delay, or with a time to live other than the default. They are deleted, or become dead
-- letters.
-- params: $1 queue_id, $2 rank, $3 id, $4 now
-- returns: queue_id, rank, id, queued_since (as ack_jobs), expires_at, retry, group_key, is_dead, in_flow
-- locks: the rows; skips locked rows
-- index: job_pkey, then by ctid; flow_job_pkey
with gone as (
    delete from pgdisque.job as j
    where j.ctid = any (array(
        {{due_rows(<=)}}
    ))
    returning j.*, {{dies_expired(j)}} as is_dead
),
{{end_expired($4::timestamptz)}}
