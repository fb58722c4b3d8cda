-- Reads a page of the dead jobs of a queue in key order: JSCAN QUEUE STATE dead.
-- params: $1 queue_id, $2 rank, $3 id (after that key), $4 limit, $5 with_body, $6 bytes (further rows are left
--         off), $7 headers, $8 error (null: all jobs match)
-- returns: as scan_jobs
-- index: dead_pkey
select
    s.size, s.queue_id, s.rank, s.id, s.ready_at, s.expires_at, s.delayed, s.owner, s.retry, s.delay, s.nacks,
    s.additional_deliveries, s.replicate, s.body, s.deliveries, s.attempts, s.backoff, s.deadqueue, s.error, s.died_at,
    s.unique_key, s.group_key, {{metadata(s)}}, null::integer as pending, s.matches
from (
    select p.*, sum(p.bytes) over (order by p.rank, p.id rows unbounded preceding) as size
    from (
        select
            d.queue_id, d.rank, d.id, timestamptz 'infinity' as ready_at, d.expires_at, false as delayed,
            null::smallint as owner, d.retry, d.delay, d.nacks, d.additional_deliveries, d.replicate,
            case when $5::boolean and d.matches then d.body end as body,
            d.deliveries, d.attempts, d.backoff, null::bytea as deadqueue, d.error, d.died_at, d.unique_key,
            null::bytea as group_key,
            d.matches, {{metadata_of(d, ($5::boolean and d.matches))}},
            256 + case when $5::boolean and d.matches then octet_length(d.body) + {{metadata_bytes(d)}} else 0 end
            + coalesce(octet_length(d.error), 0) + coalesce(octet_length(d.unique_key), 0) as bytes
        from (
            select r.*, coalesce({{matches(r, $7, $8)}}, false) as matches
            from pgdisque.dead_job as r
            where r.queue_id = $1::integer
              and (r.rank, r.id) > ($2::smallint, $3::bigint)
            order by r.rank, r.id
            limit $4::integer
        ) as d
    ) as p
) as s
where s.size - s.bytes < $6::bigint
order by s.rank, s.id
