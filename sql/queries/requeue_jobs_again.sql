-- Repeats requeue_jobs whose first try may have been committed before the connection was lost. A committed
-- change is not made twice. After a committed first try the job is queued or delayed since then. Or it was
-- leased again by this server before the loss was noticed: that lease has no client and is undone. A lease that
-- began before the first try shows that the first try was not committed.
--
-- If the first try found the job queued, a lease that is undone leaves the job queued since now. A third try must
-- not take it for a job that the first try put back.
-- params: $1 queue_id, $2 rank, $3 id, $4 nack (1: NACK, 0: ENQUEUE), $5 delay, $6 error (as in requeue_jobs),
--         $7 first (now of the first try), $8 lost (when its loss was noticed), $9 now, $10 node, $11 token (as
--         in requeue_jobs), $12 unleased (1: the first try found no lease of the job), $13 failure
-- returns: ordinal, was_queued, was_until (null: the token is stale), wake_at, last (as in requeue_jobs),
--          missed (a lease was undone, and the first try had found the job queued)
-- locks: the rows, in the order of the parameters; a deadlock is repeated by the server
-- index: job_pkey
with found as materialized (
    select
        k.ordinal, k.nack, k.error, k.failure || jsonb_build_object('attempt', j.deliveries) as failure,
        k.first, k.unleased,
        j.queue_id, j.rank, j.id, j.ready_at, j.wake_at, j.expires_at, j.retry, j.owner,
        j.group_key is not null as is_grouped,
        coalesce(k.token, 0) not in (0, {{token(j)}}) as is_other,
        coalesce({{is_exhausted(j)}}, false) as last,
        {{is_cancelled(j)}} as is_cancelled,
        coalesce(j.leased_at, j.ready_at - j.retry * interval '1 second') as leased_at,
        case when k.nack = 1 then {{delayed_until(j, k.delay, k.first)}} end as delayed_until,
        coalesce(j.owner = $10::smallint, false)
            and coalesce(j.leased_at, j.ready_at - j.retry * interval '1 second') between k.first and k.lost
            -- DEQUEUE leases without a delivery.
            and j.deliveries > 0
            as is_stray,
        {{left_since(j)}} as was_until
    from unnest(
        $1::integer[], $2::smallint[], $3::bigint[], $4::integer[], $5::integer[], $6::bytea[],
        $7::timestamptz[], $8::timestamptz[], $11::bigint[], $12::integer[],
        $13::jsonb[]
    ) with ordinality as k (queue_id, rank, id, nack, delay, error, first, lost, token, unleased, failure, ordinal)
    join pgdisque.job as j
        on j.queue_id = any (array[k.queue_id]) and j.rank = k.rank and j.id = k.id and j.expires_at > $9::timestamptz
    for update of j
),
old as materialized (
    select
        f.*, f.owner is null and f.ready_at = coalesce(f.delayed_until, f.first) as is_done,
        f.is_stray and coalesce(f.unleased, 0) = 1 as is_missed,
        -- A job that was leased again has already waited for its delay.
        case when not f.is_stray then f.delayed_until end as delay_until
    from found as f
),
requeued as (
    update pgdisque.job as j
    set ready_at = case when old.is_missed then $9::timestamptz else coalesce(old.delay_until, old.first) end,
        wake_at = case
            when old.is_done then old.wake_at
            when old.delay_until is not null then old.delay_until
            when old.wake_at is null then null
            else old.expires_at
        end,
        deliveries = case
            when old.nack = 0 and j.attempts is not null then 0
            else j.deliveries - case when old.is_stray then 1 else 0 end
        end,
        nacks = j.nacks + case when old.is_done or old.is_stray then 0 else old.nack end,
        additional_deliveries = j.additional_deliveries
            + case when old.nack = 0 and old.owner is not null and not old.is_stray then 1 else 0 end,
        owner = null,
        slot = null,
        error = coalesce(old.error, j.error),
        errors = case
            when old.failure is null or old.is_done or old.is_stray then j.errors
            else {{last_errors(j.errors)}} || old.failure
        end
    from old
    where j.queue_id = any (array[old.queue_id])
      and j.rank = old.rank
      and j.id = old.id
      and (
          old.is_done
          or old.is_stray
          or (
              not old.is_other
              and not (old.nack = 0 and old.is_cancelled)
              and (
                  (old.ready_at > $9::timestamptz and (old.ready_at < 'infinity' or not old.is_grouped)
                      and old.owner is null)
                  or (old.ready_at > $9::timestamptz and old.retry > 0 and old.leased_at < old.first)
                  or (old.nack = 0 and old.last and old.ready_at <= $9::timestamptz)
              )
          )
      )
    returning
        old.ordinal, old.ready_at <= $9::timestamptz and not old.last as was_queued, old.was_until,
        old.delay_until, old.last and old.nack = 1 and not old.is_stray as last, old.is_missed
)
select r.ordinal::integer, r.was_queued, r.was_until, r.delay_until as wake_at, r.last, r.is_missed as missed
from requeued as r
union all
select o.ordinal::integer, null, null, null, null, null
from old as o
where o.is_other
  and not o.is_done
  and not o.is_stray
