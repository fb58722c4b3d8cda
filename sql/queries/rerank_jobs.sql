-- Gives queued and delayed jobs another rank, which is part of their keys: REPRIORITIZE. The row is deleted and
-- inserted, not updated: a claim that follows an updated row to its new key would take that key for its own
-- progress. Jobs of groups are skipped, because a group is ordered by the key of its first job.
-- params: $1 queue_id, $2 rank, $3 id, $4 to_rank, $5 now
-- returns: ordinal, is_moved (false: it has that rank already), is_queued, expires_at, retry, wake_at
-- locks: the rows, in the order of their keys, and their rows in unique_key; a deadlock is repeated by the
-- server
-- index: job_pkey, unique_key_pkey, flow_job_pkey
with wanted as materialized (
    select w.*, w.to_rank <> w.rank as is_other
    from unnest($1::integer[], $2::smallint[], $3::bigint[], $4::smallint[])
        with ordinality as w (queue_id, rank, id, to_rank, ordinal)
),
first_wanted as materialized (
    select distinct on (w.queue_id, w.rank, w.id) w.*
    from wanted as w
    where w.is_other
    order by w.queue_id, w.rank, w.id, w.ordinal
),
gone as (
    delete from pgdisque.job as j
    using first_wanted as w
    where j.queue_id = any (array[w.queue_id])
      and j.rank = w.rank
      and j.id = w.id
      and j.expires_at > $5::timestamptz
      -- A job that another server has just added has no owner. Its ready_at may be in the future, because
      -- clocks differ.
      and ({{not_leased(j, $5::timestamptz)}} or j.wake_at = j.ready_at)
      and {{has_attempts(j)}}
      and j.group_key is null
    returning w.ordinal, w.to_rank, j.*
),
moved as (
    insert into pgdisque.job
        (id, ready_at, expires_at, wake_at, queue_id, retry, delay, deliveries, nacks, additional_deliveries,
         rank, replicate, owner, body, unique_key, unique_until, unique_start, worker, attempts, backoff,
         leased_at, deadqueue, error, own_expires_at, sorted_set, in_flow, {{metadata_columns()}})
    -- The job no longer expires in the order of ids, so it needs a wake_at.
    select
        g.id, g.ready_at, g.expires_at, coalesce(g.wake_at, g.expires_at), g.queue_id, g.retry, g.delay, g.deliveries,
        g.nacks, g.additional_deliveries, g.to_rank, g.replicate, g.owner, g.body, g.unique_key,
        g.unique_until, g.unique_start,
        g.worker, g.attempts, g.backoff, g.leased_at, g.deadqueue, g.error, g.own_expires_at,
        g.sorted_set, g.in_flow,
        {{metadata(g)}}
    from gone as g
),
renamed as (
    update pgdisque.unique_key as k
    set rank = g.to_rank
    from gone as g
    where k.queue_id = any (array[g.queue_id])
      and k.key = g.unique_key
      and k.id = g.id
),
followed as (
    -- The row exists. The delete may have waited for the session that inserted it, so an update would not see it.
    insert into pgdisque.flow_job as f (id, queue_id, rank, expires_at, retry)
    select g.id, g.queue_id, g.to_rank, g.expires_at, g.retry
    from gone as g
    where g.in_flow
    on conflict (id) do update
    set rank = excluded.rank, turn = f.turn + 1
)
select
    g.ordinal::integer, true as is_moved,
    g.wake_at is distinct from g.ready_at as is_queued,
    g.expires_at, g.retry, coalesce(g.wake_at, g.expires_at) as wake_at
from gone as g
union all
select
    w.ordinal::integer, false,
    {{not_leased(j, $5::timestamptz)}} and j.wake_at is distinct from j.ready_at,
    j.expires_at, j.retry, j.wake_at
from wanted as w
join pgdisque.job as j on j.queue_id = any (array[w.queue_id]) and j.rank = w.to_rank and j.id = w.id
where j.expires_at > $5::timestamptz
