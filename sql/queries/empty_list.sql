-- Deletes queued jobs of a queue between two keys, the first ones up to a limit: DEL.
-- params: $1 queue_id, $2 rank, $3 id (the first key, excluded), $4 last rank, $5 last id (included), $6 limit,
--         $7 now
-- returns: rank, id, end_rank, end_id (the last key of the queue, in any state), ready_at, expires_at, retry,
--          group_key, in_flow; in no order
-- locks: the rows; skips locked rows
-- index: job_pkey, then by ctid; flow_job_pkey
with {{queue_end()}},
gone as (
    delete from pgdisque.job as j
    using queue_end as e
    where j.ctid = any (array(
        select r.ctid
        from pgdisque.job as r
        where r.queue_id = $1::integer
          and (r.rank, r.id) > ($2::smallint, $3::bigint)
          and (r.rank, r.id) <= ($4::smallint, $5::bigint)
          and {{queued(r, $7::timestamptz)}}
        order by r.rank, r.id
        limit $6::integer
        for update skip locked
    ))
    returning j.rank, j.id, e.rank as end_rank, e.id as end_id, j.ready_at, j.expires_at, j.retry, j.group_key,
        j.in_flow
),
noted as (
    {{note_outcome(gone, 3)}}
)
select g.rank, g.id, g.end_rank, g.end_id, g.ready_at, g.expires_at, g.retry, g.group_key,
    g.in_flow
from gone as g
