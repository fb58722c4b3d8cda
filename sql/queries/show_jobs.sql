-- Describes jobs: SHOW.
-- params: $1 queue_id, $2 rank, $3 id, $4 now
-- returns: ordinal, queue_id, rank, id, ready_at, expires_at, delayed, owner, retry, delay, nacks, extras,
--          replicate, body
-- index: job_pkey
select
    k.ordinal::integer, j.queue_id, j.rank, j.id, j.ready_at, j.expires_at,
    j.wake_at is not distinct from j.ready_at as delayed, j.owner,
    j.retry, j.delay, j.nacks, j.extras, j.replicate, j.body
from unnest($1::integer[], $2::smallint[], $3::bigint[]) with ordinality as k (queue_id, rank, id, ordinal)
join pgdisque.job as j on j.queue_id = any (array[k.queue_id]) and j.rank = k.rank and j.id = k.id
where j.expires_at > $4::timestamptz
