-- Finds queued jobs of a queue with this body, counted from the first job: LPOS.
-- params: $1 queue_id, $2 rank, $3 id (no ready job is at or before this key), $4 number of jobs to compare
--         (null: all), $5 now, $6 body (an array of one), $7 number of matches to skip, $8 number of matches to
--         return (null: all), $9 whether the total is wanted
-- returns: place (from 0), total (number of queued jobs, or null); in the order of the search
-- index: job_pkey
{{find(asc)}}
