-- Reads a page of the jobs that wait for other jobs, in key order: JSCAN STATE waiting.
-- params: $1 queue_id, $2 rank, $3 id (after that key), $4 limit, $5 now, $6 with_body, $7 queue_id (up to that
--         queue), $8 bytes (further rows are left off), $9 headers, $10 error (null: all jobs match)
-- returns: as scan_jobs; pending is the number of jobs that it waits for
-- index: waiting_job_pkey
select
    {{view(s, s.pending)}}
from (
    select p.*, sum(p.bytes) over (order by p.queue_id, p.rank, p.id rows unbounded preceding) as size
    from (
        select
            {{waiting_view(w, $6)}}, w.pending
        from (
            select
                r.*,
                r.outcome is null and r.expires_at > $5::timestamptz
                and coalesce({{matches(r, $9, $10)}}, false) as matches
            from (select l.*, null::bytea as error from pgdisque.waiting_job as l) as r
            where (r.queue_id, r.rank, r.id) > ($1::integer, $2::smallint, $3::bigint)
              and r.queue_id <= $7::integer
            order by r.queue_id, r.rank, r.id
            limit $4::integer
        ) as w
    ) as p
) as s
where s.size - s.bytes < $8::bigint
order by s.queue_id, s.rank, s.id
