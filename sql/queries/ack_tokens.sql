-- Deletes jobs in any state: ACKJOB with tokens. A token must be that of the last delivery.
-- params: $1 queue_id, $2 rank, $3 id, $4 token (0: none), $5 now
-- returns: ordinal, queued_since (as ack_jobs; null: the token is stale, and the job is unchanged), group_key,
--          in_flow
-- locks: the rows, in the order of the parameters; a deadlock is repeated by the server
-- index: job_pkey
with k as materialized (
    select k.queue_id, k.rank, k.id, k.token, k.ordinal
    from unnest($1::integer[], $2::smallint[], $3::bigint[], $4::bigint[])
        with ordinality as k (queue_id, rank, id, token, ordinal)
),
gone as (
    delete from pgdisque.job as j
    using k
    where j.queue_id = any (array[k.queue_id])
      and j.rank = k.rank
      and j.id = k.id
      and j.expires_at > $5::timestamptz
      and k.token in (0, {{token(j)}})
    returning
        k.ordinal,
        {{queued_since(j, $5::timestamptz)}} as queued_since,
        j.group_key, j.in_flow
)
select g.ordinal::integer, g.queued_since, g.group_key, g.in_flow
from gone as g
union all
select k.ordinal::integer, null, null, null
from k
join pgdisque.job as j on j.queue_id = any (array[k.queue_id]) and j.rank = k.rank and j.id = k.id
where j.expires_at > $5::timestamptz
  and k.token not in (0, {{token(j)}})
