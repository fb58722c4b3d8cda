-- Reads the last queued jobs of a queue, newest first, without a lease: QPEEK with a negative count.
-- params: $1 queue_id, $2 rank, $3 id (no ready job is at or before this key), $4 limit, $5 now, $6 rank, $7 id
--         (before that key), $8 bytes (further rows are left off)
-- returns: as peek_first
-- index: job_pkey, backwards
{{peek(desc)}}
