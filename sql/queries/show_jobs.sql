-- Describes jobs, including dead jobs and jobs that wait for other jobs: SHOW.
-- params: $1 queue_id, $2 rank, $3 id, $4 now
-- returns: ordinal, queue_id, rank, id, ready_at, expires_at, delayed, owner, retry, delay, nacks,
--          additional_deliveries, replicate, body, deliveries, attempts, backoff, deadqueue, error,
--          died_at (null: not dead), unique_key, group_key, headers, progress, errors,
--          pending (jobs that it waits for; null: it is in its queue), worker (null: unknown),
--          matches (true), batch_queue_id, batch_rank, batch_id, batch_retry (null: it belongs to no batch)
-- index: job_pkey, dead_pkey, waiting_job_id, flow_job_pkey, batch_pkey
select
    s.ordinal::integer, s.queue_id, s.rank, s.id, s.ready_at, s.expires_at, s.delayed, s.owner, s.retry, s.delay,
    s.nacks, s.additional_deliveries, s.replicate, s.body, s.deliveries, s.attempts, s.backoff, s.deadqueue, s.error,
    s.died_at,
    s.unique_key, s.group_key, {{metadata(s)}}, s.pending, s.worker, true as matches,
    b.queue_id as batch_queue_id, b.rank as batch_rank, b.id as batch_id, b.retry as batch_retry
from (
    select
        k.ordinal, j.queue_id, j.rank, j.id, j.ready_at, j.expires_at,
        j.wake_at is not distinct from j.ready_at as delayed, j.owner,
        j.retry, j.delay, j.nacks, j.additional_deliveries, j.replicate, j.body,
        j.deliveries, j.attempts, j.backoff, j.deadqueue, j.error, null::timestamptz as died_at, j.unique_key,
        j.group_key, {{metadata(j)}}, null::integer as pending,
        case when j.owner is not null then j.worker end as worker, j.in_flow
    from unnest($1::integer[], $2::smallint[], $3::bigint[]) with ordinality as k (queue_id, rank, id, ordinal)
    join pgdisque.job as j on j.queue_id = any (array[k.queue_id]) and j.rank = k.rank and j.id = k.id
    where j.expires_at > $4::timestamptz
    union all
    select
        k.ordinal, d.queue_id, d.rank, d.id, 'infinity', d.expires_at, false, null,
        d.retry, d.delay, d.nacks, d.additional_deliveries, d.replicate, d.body,
        d.deliveries, d.attempts, d.backoff, null, d.error, d.died_at, d.unique_key, null,
        {{metadata(d)}}, null, null, true
    from unnest($1::integer[], $2::smallint[], $3::bigint[]) with ordinality as k (queue_id, rank, id, ordinal)
    join pgdisque.dead_job as d on d.queue_id = any (array[k.queue_id]) and d.rank = k.rank and d.id = k.id
    union all
    select
        k.ordinal, w.queue_id, w.rank, w.id, 'infinity', w.expires_at, false, null,
        w.retry, w.delay, 0, 0, w.replicate, w.body,
        0, w.attempts, w.backoff, w.deadqueue, null, null, null, w.group_key,
        w.headers, null, null, w.pending, null, true
    from unnest($1::integer[], $2::smallint[], $3::bigint[]) with ordinality as k (queue_id, rank, id, ordinal)
    join pgdisque.waiting_job as w on w.id = any (array[k.id])
    where w.outcome is null
      and {{is_after(w.expires_at, $4)}}
) as s
left join lateral (
    select b.queue_id, b.rank, b.id, b.retry
    from pgdisque.flow_job as f
    join pgdisque.batch as b on b.id = any (array[f.batch_id])
    where s.in_flow
      and f.id = any (array[s.id])
) as b on true
