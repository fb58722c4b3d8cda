-- Deletes the last queued jobs of a queue with this body: LREM.
-- params: $1 queue_id, $2 rank, $3 id (no ready job is at or before this key), $4 limit, $5 now, $6 body (an
--         array of one)
-- returns: rank, id, ready_at, expires_at, retry, group_key, in_flow; in no order
-- locks: the rows; skips locked rows
-- index: job_pkey backwards, then by ctid; flow_job_pkey
{{remove(desc)}}
