-- Reads a page of the retained jobs in key order: JSCAN STATE done.
-- params: $1 queue_id, $2 rank, $3 id (after that key), $4 limit, $5 now, $6 with_body, $7 queue_id (up to that
--         queue), $8 bytes (further rows are left off), $9 headers, $10 error (null: all jobs match)
-- returns: size (of all rows so far), queue_id, rank, id, finished_at, keep_until, expires_at, retry, delay,
--          deliveries, nacks, additional_deliveries, replicate, worker, error, result, body, headers, progress, errors,
--          matches
-- index: retained_0_pkey and the same of the other partitions
select
    s.size, s.queue_id, s.rank, s.id, s.finished_at, s.keep_until, s.expires_at, s.retry, s.delay, s.deliveries,
    s.nacks, s.additional_deliveries, s.replicate, s.worker, s.error, s.result, s.body,
    {{metadata(s)}}, s.matches
from (
    select p.*, sum(p.bytes) over (order by p.queue_id, p.rank, p.id rows unbounded preceding) as size
    from (
        select
            f.queue_id, f.rank, f.id, f.finished_at, f.keep_until, f.expires_at, f.retry, f.delay,
            f.deliveries, f.nacks, f.additional_deliveries, f.replicate, f.worker, f.error,
            case when $6::boolean and f.matches then f.result end as result,
            case when $6::boolean and f.matches then f.body end as body,
            f.matches, {{metadata_of(f, ($6::boolean and f.matches))}},
            256 + case when $6::boolean and f.matches then octet_length(f.body) + coalesce(octet_length(f.result), 0)
                + {{metadata_bytes(f)}} else 0 end
            + coalesce(octet_length(f.worker), 0) + coalesce(octet_length(f.error), 0) as bytes
        from (
            select r.*, coalesce({{matches(r, $9, $10)}}, false) as matches
            from pgdisque.retained as r
            where (r.queue_id, r.rank, r.id) > ($1::integer, $2::smallint, $3::bigint)
              and r.queue_id <= $7::integer
              and r.keep_until > $5::timestamptz
            order by r.queue_id, r.rank, r.id
            limit $4::integer
        ) as f
    ) as p
) as s
where s.size - s.bytes < $8::bigint
order by s.queue_id, s.rank, s.id
