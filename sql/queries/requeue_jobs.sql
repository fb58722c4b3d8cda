-- Puts jobs that are not queued back into their queues: NACK and ENQUEUE. At-most-once jobs (retry 0) are put
-- back only if they were never queued, that is, while they are delayed. ENQUEUE gives a job with attempts
-- all of them again, and skips a job that is cancelled.
-- params: $1 queue_id, $2 rank, $3 id, $4 nack (1: NACK, 0: ENQUEUE), $5 delay (of NACK, seconds; null: the
--         job's back-off), $6 error (of NACK; null: none), $7 now, $8 token (none, 0, or that of the last
--         delivery), $9 failure (the error and its time, for errors; null: none)
-- returns: ordinal, was_until (planned end of the lease, or as left_since; null: the token is stale, and the job is
--          unchanged), wake_at (end of the new delay; null: queued), last (the job is exhausted: it must become
--          a dead letter)
-- locks: the rows, in the order of the parameters; a deadlock is repeated by the server
-- index: job_pkey
with old as materialized (
    select
        k.ordinal, k.nack, k.error, k.failure || jsonb_build_object('attempt', j.deliveries) as failure,
        j.queue_id, j.rank, j.id,
        {{left_since(j)}} as was_until,
        coalesce(k.token, 0) not in (0, {{token(j)}}) as is_stale,
        coalesce({{is_exhausted(j)}} and k.nack = 1, false) as last,
        case when k.nack = 1 then {{delayed_until(j, k.delay, $7::timestamptz)}} end as wake_at
    from unnest($1::integer[], $2::smallint[], $3::bigint[], $4::integer[], $5::integer[], $6::bytea[], $8::bigint[],
        $9::jsonb[])
        with ordinality as k (queue_id, rank, id, nack, delay, error, token, failure, ordinal)
    join pgdisque.job as j on j.queue_id = any (array[k.queue_id]) and j.rank = k.rank and j.id = k.id
    where j.expires_at > $7::timestamptz
      and (
          coalesce(k.token, 0) not in (0, {{token(j)}})
          or (
              (j.ready_at > $7::timestamptz or (k.nack = 0 and {{is_exhausted(j)}}))
              and (j.retry > 0 or j.owner is null or {{is_cancelled(j)}})
              and not (k.nack = 0 and {{is_cancelled(j)}})
          )
      )
      -- A job that waits in its group keeps waiting.
      and {{not_grouped(j)}}
    for update of j
),
requeued as (
    update pgdisque.job as j
    set ready_at = coalesce(old.wake_at, $7::timestamptz),
        wake_at = coalesce(old.wake_at, {{wake_at_end(j)}}),
        deliveries = case when old.nack = 0 and j.attempts is not null then 0 else j.deliveries end,
        nacks = j.nacks + old.nack,
        additional_deliveries = j.additional_deliveries
            + case when old.nack = 0 and j.owner is not null then 1 else 0 end,
        owner = null,
        slot = null,
        error = coalesce(old.error, j.error),
        errors = case when old.failure is null then j.errors else {{last_errors(j.errors)}} || old.failure end
    from old
    -- Joins by key, because a row that was waited for may have a new ctid.
    where j.queue_id = any (array[old.queue_id])
      and j.rank = old.rank
      and j.id = old.id
      and not old.is_stale
    returning old.ordinal, old.was_until, old.wake_at, old.last
)
select r.ordinal::integer, r.was_until, r.wake_at, r.last
from requeued as r
union all
select o.ordinal::integer, null, null, null
from old as o
where o.is_stale
