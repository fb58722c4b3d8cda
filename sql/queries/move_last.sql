-- Moves the last ready jobs of a queue, as move_first moves the first. Exhausted jobs are skipped.
-- params: $1 queue_id, $2 rank, $3 id (the key after which the scan ends), $4 limit, $5 now, $6 queue_id,
--         $7 id (arrays: the new keys, as many as the limit)
-- returns: as move_first
-- locks: the rows; skips locked rows
-- index: job_pkey backwards, then by ctid
{{move(desc)}}
