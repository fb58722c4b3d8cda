-- end_expired(now): the rest of a statement that deletes expired jobs: their outcomes, their dead letters, and the rows
--
-- A job becomes a dead letter if the setting expired of its queue is dead.
noted as (
    {{note_failure(gone, 4, 'the time to live ended')}}
),
kept as (
    insert into pgdisque.dead_job
        (id, died_at, expires_at, queue_id, retry, delay, deliveries, nacks, additional_deliveries, attempts,
         backoff, rank, replicate, error, unique_key, body, {{metadata_columns()}})
    select
        g.id, g.expires_at, g.expires_at, g.queue_id, g.retry, g.delay, g.deliveries, g.nacks,
        g.additional_deliveries, g.attempts, g.backoff, g.rank, g.replicate, 'the time to live ended',
        case when g.unique_start is not true then g.unique_key end, g.body, {{metadata(g)}}
    from gone as g
    where g.is_dead
    on conflict (queue_id, rank, id) do nothing
)
select
    g.queue_id, g.rank, g.id,
    {{queued_since(g, :now)}} as queued_since,
    g.expires_at, g.retry, g.group_key, g.is_dead, g.in_flow
from gone as g
