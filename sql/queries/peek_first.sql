-- Reads the first queued jobs of a queue, without a lease: QPEEK.
-- params: $1 queue_id, $2 rank, $3 id (no ready job is at or before this key), $4 limit, $5 now, $6 rank, $7 id
--         (before that key), $8 bytes (further rows are left off)
-- returns: size (of all rows so far), queue_id, rank, id, ready_at, expires_at, delayed, owner, retry, delay,
--          nacks, additional_deliveries, replicate, body
-- index: job_pkey
{{peek(asc)}}
