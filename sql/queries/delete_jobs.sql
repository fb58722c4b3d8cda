-- Deletes jobs in any state: DELJOB. A job of a workflow or batch is cancelled.
-- params: $1 queue_id, $2 rank, $3 id, $4 now
-- returns: ordinal, queued_since (as ack_jobs), group_key, in_flow, is_waiting (true: it waited for other jobs; other
--          columns null)
-- locks: the rows, in the order of the parameters; a deadlock is repeated by the server
-- index: job_pkey, flow_job_pkey, waiting_job_id, batch_pkey
with gone as (
    delete from pgdisque.job as j
    using unnest($1::integer[], $2::smallint[], $3::bigint[]) with ordinality as k (queue_id, rank, id, ordinal)
    where j.queue_id = any (array[k.queue_id])
      and j.rank = k.rank
      and j.id = k.id
      and j.expires_at > $4::timestamptz
    returning
        k.ordinal::integer,
        {{queued_since(j, $4::timestamptz)}} as queued_since,
        j.group_key, j.in_flow, j.queue_id, j.rank, j.id, j.expires_at, j.retry
),
noted as (
    {{note_failure(gone, 3, null)}}
),
{{cancel_waiting($4::timestamptz)}}
select g.ordinal, g.queued_since, g.group_key, g.in_flow, null::boolean as is_waiting
from gone as g
union all
select w.ordinal::integer, null, null, null, true
from waiting as w
