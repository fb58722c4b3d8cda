-- Finds the jobs that another session has locked. The other jobs stay locked until the transaction ends.
-- params: $1 queue_id, $2 rank, $3 id
-- returns: ordinal; the jobs that are locked by another session
-- locks: the rows; skips locked rows
-- index: job_pkey
select k.ordinal::integer
from unnest($1::integer[], $2::smallint[], $3::bigint[]) with ordinality as k (queue_id, rank, id, ordinal)
cross join lateral (
    select
    from pgdisque.job as j
    where j.queue_id = any (array[k.queue_id])
      and j.rank = k.rank
      and j.id = k.id
    limit 1
) as j
left join lateral (
    select true as free
    from pgdisque.job as r
    where r.queue_id = any (array[k.queue_id])
      and r.rank = k.rank
      and r.id = k.id
    for update skip locked
) as l on true
where l.free is null
