-- Cancels jobs: CANCEL. A job without a worker is deleted. A job that a worker has is marked (is_cancelled): no
-- statement delivers it again, and dead_letter_jobs deletes it at the end of its lease. This server watches that lease
-- then. In a workflow or batch it counts as cancelled, also if its worker acknowledges it.
-- params: $1 queue_id, $2 rank, $3 id, $4 now, $5 node
-- returns: ordinal, expires_at, retry, running_until (end of the lease; null: the job is deleted), queued_since (as
--          ack_jobs), group_key, in_flow, is_waiting (true: it waited for other jobs; other columns null), queue (the
--          name, of a running job: this server may not know the queue yet)
-- locks: the rows, in the order of the parameters; a deadlock is repeated by the server
-- index: job_pkey, queue_pkey, flow_job_pkey, waiting_job_id, batch_pkey
with old as materialized (
    select
        k.ordinal, j.queue_id, j.rank, j.id,
        {{is_leased(j, $4::timestamptz)}} as is_running,
        {{is_cancelled(j)}} as is_cancelled
    from unnest($1::integer[], $2::smallint[], $3::bigint[]) with ordinality as k (queue_id, rank, id, ordinal)
    join pgdisque.job as j on j.queue_id = any (array[k.queue_id]) and j.rank = k.rank and j.id = k.id
    where j.expires_at > $4::timestamptz
    for update of j
),
gone as (
    delete from pgdisque.job as j
    using old
    where j.queue_id = any (array[old.queue_id])
      and j.rank = old.rank
      and j.id = old.id
      and not old.is_running
    returning
        old.ordinal, j.expires_at, j.retry, {{queued_since(j, $4::timestamptz)}} as queued_since, j.group_key,
        j.in_flow, j.queue_id, j.rank, j.id
),
marked as (
    update pgdisque.job as j
    set attempts = -coalesce(j.attempts, 0), owner = $5::smallint
    from old
    where j.queue_id = any (array[old.queue_id])
      and j.rank = old.rank
      and j.id = old.id
      and old.is_running
      and not old.is_cancelled
    returning old.ordinal, j.expires_at, j.retry, j.ready_at, j.in_flow, j.queue_id, j.rank, j.id
),
cancelled as materialized (
    select g.queue_id, g.rank, g.id, g.expires_at, g.retry, g.in_flow
    from gone as g
    union all
    select m.queue_id, m.rank, m.id, m.expires_at, m.retry, m.in_flow
    from marked as m
),
noted as (
    {{note_failure(cancelled, 3, null)}}
),
{{cancel_waiting($4::timestamptz)}}
select
    g.ordinal::integer, g.expires_at, g.retry, null::timestamptz as running_until, g.queued_since, g.group_key,
    g.in_flow, null::boolean as is_waiting, null::bytea as queue
from gone as g
union all
select
    m.ordinal::integer, m.expires_at, m.retry, m.ready_at, null, null, null, null,
    (select q.name from pgdisque.queue as q where q.id = m.queue_id)
from marked as m
union all
select w.ordinal::integer, null, null, null, null, null, null, true, null
from waiting as w
