-- Deletes the last ready jobs of a queue, for list commands that pop at the end that is not the consume end.
-- Exhausted jobs are skipped.
-- params: $1 queue_id, $2 rank, $3 id (the key after which the scan ends), $4 limit, $5 now
-- returns: rank, id, ready_at, expires_at, retry, nacks, additional_deliveries, body, deliveries,
--          attempts, backoff, deadqueue, error, unique_key, unique_until, group_key, headers,
--          progress, errors, delay, replicate, own_expires_at, unique_start, in_flow; in no order
-- locks: the rows; skips locked rows
-- index: job_pkey backwards, then by ctid
{{pop(desc)}}
