-- Reads queued jobs of a queue from the last job on, as elements of a list: LRANGE. If they have more bytes than the
-- limit, it returns none.
-- params: $1 queue_id, $2 rank, $3 id (no ready job is at or before this key), $4 offset, $5 limit, $6 now,
--         $7 rank, $8 id (before that key), $9 bytes (each row counts 256 more than its body)
-- returns: body; in reverse key order
-- index: job_pkey backwards
{{whole(desc)}}
