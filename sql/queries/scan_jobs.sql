-- Reads a page of all jobs in key order: JSCAN. A job that does not match is returned without its body.
-- params: $1 queue_id, $2 rank, $3 id (after that key), $4 limit, $5 now, $6 with_body, $7 bytes (further rows
--         are left off), $8 headers, $9 error (null: all jobs match)
-- returns: as peek_first, deliveries, attempts, backoff, deadqueue, error, died_at, unique_key, group_key,
--          headers, progress, errors (null without bodies), pending (null), worker (null: unknown), matches
-- index: job_pkey
select
    {{view(s, null::integer)}}
from (
    select p.*, sum(p.bytes) over (order by p.queue_id, p.rank, p.id rows unbounded preceding) as size
    from (
        select
            {{job_view(j, $6)}}
        from (
            select r.*, coalesce({{matches(r, $8, $9)}}, false) as matches
            from pgdisque.job as r
            where (r.queue_id, r.rank, r.id) > ($1::integer, $2::smallint, $3::bigint)
              and r.expires_at > $5::timestamptz
            order by r.queue_id, r.rank, r.id
            limit $4::integer
        ) as j
    ) as p
) as s
where s.size - s.bytes < $7::bigint
order by s.queue_id, s.rank, s.id
