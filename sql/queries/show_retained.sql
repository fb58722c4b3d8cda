-- Describes retained jobs: SHOW.
-- params: $1 queue_id, $2 rank, $3 id, $4 now
-- returns: ordinal, queue_id, rank, id, finished_at, keep_until, expires_at, retry, delay, deliveries, nacks,
--          additional_deliveries, replicate, worker, error, result, body, headers, progress, errors
-- index: retained_0_pkey and the same of the other partitions
select
    k.ordinal::integer, f.queue_id, f.rank, f.id, f.finished_at, f.keep_until, f.expires_at, f.retry, f.delay,
    f.deliveries, f.nacks, f.additional_deliveries, f.replicate, f.worker, f.error, f.result, f.body,
    {{metadata(f)}}
from unnest($1::integer[], $2::smallint[], $3::bigint[]) with ordinality as k (queue_id, rank, id, ordinal)
join pgdisque.retained as f on f.queue_id = any (array[k.queue_id]) and f.rank = k.rank and f.id = k.id
where f.keep_until > $4::timestamptz
