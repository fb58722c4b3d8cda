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
            j.queue_id, j.rank, j.id, j.ready_at, j.expires_at, j.wake_at is not distinct from j.ready_at as delayed,
            j.owner, j.retry, j.delay, j.nacks, j.additional_deliveries, j.replicate,
            case when $6::boolean and j.matches then j.body end as body,
            j.deliveries, j.attempts, j.backoff, j.deadqueue, j.error, null::timestamptz as died_at,
            j.unique_key, j.group_key, case when j.owner is not null then j.worker end as worker,
            j.matches, {{metadata_of(j, ($6::boolean and j.matches))}},
            256 + case when $6::boolean and j.matches then octet_length(j.body) + {{metadata_bytes(j)}} else 0 end
            + coalesce(octet_length(j.deadqueue), 0) + coalesce(octet_length(j.error), 0)
            + coalesce(octet_length(j.unique_key), 0) + coalesce(octet_length(j.group_key), 0)
            + coalesce(octet_length(j.worker), 0) as bytes
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
