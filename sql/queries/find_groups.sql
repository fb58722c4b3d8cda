-- Reads the groups of jobs that an SQL function has reported.
-- params: $1 queue_id, $2 rank, $3 id
-- returns: queue_id, group_key (null: no group), id
-- index: job_pkey
select j.queue_id, j.group_key, j.id
from unnest($1::integer[], $2::smallint[], $3::bigint[]) as k (queue_id, rank, id)
join pgdisque.job as j on j.queue_id = any (array[k.queue_id]) and j.rank = k.rank and j.id = k.id
