-- cancel_waiting(now): waiting, which cancels the jobs $1, $2, $3 that wait for other jobs
--
-- The server then counts their ends. The number of a job is unique over all queues. A batch whose completion job is
-- cancelled is closed.
waiting as (
    update pgdisque.waiting_job as w
    set outcome = 3
    from unnest($1::integer[], $2::smallint[], $3::bigint[]) with ordinality as k (queue_id, rank, id, ordinal)
    where w.id = any (array[k.id])
      and w.outcome is null
      and {{is_after(w.expires_at, :now)}}
    returning k.ordinal, w.id
),
closed as (
    {{close_cancelled(waiting, :now)}}
)
