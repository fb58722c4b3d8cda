-- Reads the latest expiry of the queued jobs of a queue: TTL.
-- params: $1 queue_id, $2 now, $3 for_ever (a job that expires later has no end)
-- returns: expires_at (infinity: for ever; null: no job is queued)
-- index: job_pkey
select
    case
        when exists (
            select
            from pgdisque.job as r
            where r.queue_id = $1::integer
              and {{queued(r, $2::timestamptz)}}
              and r.expires_at > $3::timestamptz
        ) then 'infinity'
        else (
            select max(r.expires_at)
            from pgdisque.job as r
            where r.queue_id = $1::integer
              and {{queued(r, $2::timestamptz)}}
        )
    end as expires_at
