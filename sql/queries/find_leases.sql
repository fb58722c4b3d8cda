-- Reads leases by key, in the order of the changes of this server. load_leases may have read them before a change. Also
-- reads leases that have ended, and jobs that are queued with a ready_at in the future.
-- params: $1 queue_id, $2 rank, $3 id, $4 now
-- returns: ordinal, ready_at, owner (0: queued), last (attempt), worker (null: unknown)
-- index: job_pkey
select k.ordinal::integer, j.ready_at, coalesce(j.owner, 0::smallint) as owner,
    coalesce({{is_exhausted(j)}}, false) as last, case when j.owner is not null then j.worker end as worker
from unnest($1::integer[], $2::smallint[], $3::bigint[]) with ordinality as k (queue_id, rank, id, ordinal)
join pgdisque.job as j
    on j.queue_id = any (array[k.queue_id])
    and j.rank = k.rank
    and j.id = k.id
where j.owner is not null
    or (j.ready_at > $4::timestamptz and j.wake_at is distinct from j.ready_at)
    or {{is_exhausted(j)}}
