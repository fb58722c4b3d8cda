-- Reads a page of the jobs of a batch, in the order of their ids: JSCAN BATCH. A job without a row has ended,
-- and does not match.
-- params: $1 id (of the batch, or of one of its jobs), $2 id (after it), $3 limit, $4 now, $5 with_body, $6 bytes
--         (further rows are left off), $7 headers, $8 error (null: all jobs match)
-- returns: as scan_jobs; pending is the number of jobs that it waits for
-- index: batch_pkey, flow_job_pkey, flow_job_batch, job_pkey, dead_pkey, waiting_job_id
select
    {{view(s, s.pending)}}
from (
    select p.*, sum(p.bytes) over (order by p.place rows unbounded preceding) as size
    from (
        select
            m.place, m.queue_id, m.rank, m.id, coalesce(v.ready_at, 'infinity') as ready_at,
            coalesce(v.expires_at, m.expires_at) as expires_at, coalesce(v.delayed, false) as delayed, v.owner,
            coalesce(v.retry, m.retry) as retry, coalesce(v.delay, 0) as delay, coalesce(v.nacks, 0) as nacks,
            coalesce(v.additional_deliveries, 0) as additional_deliveries,
            coalesce(v.replicate, 1::smallint) as replicate, v.body, coalesce(v.deliveries, 0) as deliveries,
            v.attempts, v.backoff, v.deadqueue, v.error, v.died_at, v.unique_key, v.group_key, v.pending,
            v.worker, coalesce(v.matches, false) as matches, {{metadata(v)}}, coalesce(v.bytes, 256) as bytes
        from (
            select f.queue_id, f.rank, f.id, f.id + 0 as place, f.expires_at, f.retry
            from pgdisque.flow_job as f
            where f.batch_id is not null
              and f.batch_id + 0 = {{named_batch($1::bigint)}}
              and f.id + 0 > $2::bigint
            order by f.id + 0
            limit $3::integer
        ) as m
        left join lateral (
            select
                {{job_view(j, $5)}}, null::integer as pending
            from (
                select r.*, coalesce({{matches(r, $7, $8)}}, false) as matches
                from pgdisque.job as r
                where r.queue_id = any (array[m.queue_id])
                  and r.rank = m.rank
                  and r.id = m.id
                  and r.expires_at > $4::timestamptz
            ) as j
            union all
            select
                {{dead_view(d, $5)}}, null::integer
            from (
                select r.*, coalesce({{matches(r, $7, $8)}}, false) as matches
                from pgdisque.dead_job as r
                where r.queue_id = any (array[m.queue_id])
                  and r.rank = m.rank
                  and r.id = m.id
            ) as d
            union all
            select
                {{waiting_view(w, $5)}}, w.pending
            from (
                select r.*, coalesce({{matches(r, $7, $8)}}, false) as matches
                from (select l.*, null::bytea as error from pgdisque.waiting_job as l) as r
                where r.id = any (array[m.id])
                  and r.outcome is null
                  and {{is_after(r.expires_at, $4)}}
            ) as w
            limit 1
        ) as v on true
    ) as p
) as s
where s.size - s.bytes < $6::bigint
order by s.place
