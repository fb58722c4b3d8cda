-- resume(revived): revived jobs have not ended for their batches, and for the successors that they hold
--
-- revived has the columns queue_id, rank, id, expires_at, retry and in_flow.
flows as materialized (
    select f.batch_id, f.outcome, f.ended_at
    from :revived as r
    join pgdisque.flow_job as f on f.id = any (array[r.id])
    for update of f
),
resumed as (
    -- A row may be newer than the statement, so an update would not see it. It may also have been pruned.
    insert into pgdisque.flow_job as f (id, queue_id, rank, expires_at, retry)
    select r.id, r.queue_id, r.rank, r.expires_at, r.retry
    from :revived as r
    where r.in_flow
      -- Only after the outcomes were read.
      and (select count(*) from flows) >= 0
    on conflict (id) do update
    set outcome = null,
        ended_at = null,
        result = null,
        is_settled = false,
        after_failure = false,
        turn = f.turn + 1,
        queue_id = excluded.queue_id,
        expires_at = excluded.expires_at
),
uncounted as (
    update pgdisque.batch as b
    set failed = b.failed - n.failed, cancelled = b.cancelled - n.cancelled
    from (
        select
            w.batch_id,
            count(*) filter (where w.outcome in (2, 4)) as failed,
            count(*) filter (where w.outcome = 3) as cancelled
        from flows as w
        where w.batch_id is not null
          and w.ended_at is not null
        group by w.batch_id
    ) as n
    where b.id = any (array[n.batch_id])
)
