-- working(): the query old of the statements working_jobs and working_limited
old as materialized (
    select
        k.ordinal, j.queue_id, j.rank, j.id, j.retry, j.ready_at, j.slot, k.worker, k.progress,
        coalesce(k.token, 0) <> 0 as has_token,
        coalesce(k.token, 0) not in (0, {{token(j)}}) as is_stale,
        case when j.retry > 0 then {{working_seconds(j, k.seconds, k.token, $6::timestamptz)}} else 0 end as lease,
        {{lease_wait(j, j.deliveries)}} as wait,
        {{is_cancelled(j)}}
            or {{working_too_late(j, k.created_at, k.token, $6::timestamptz)}} as too_late,
        {{is_cancelled(j)}} as is_cancelled,
        {{counted(j, $6::timestamptz)}} as was_queued,
        {{left_since(j)}} as was_until,
        coalesce({{is_exhausted(j)}}, false) as last,
        case when k.seconds is not null or j.backoff is not null then $6::timestamptz end as leased_at
    from unnest(
        $1::integer[], $2::smallint[], $3::bigint[], $4::timestamptz[], $5::integer[], $8::bigint[], $9::bytea[],
        $10::jsonb[]
    )
        with ordinality as k (queue_id, rank, id, created_at, seconds, token, worker, progress, ordinal)
    join pgdisque.job as j
        on j.queue_id = any (array[k.queue_id]) and j.rank = k.rank and j.id = k.id and j.expires_at > $6::timestamptz
    -- A job that waits in its group keeps waiting.
    where {{not_grouped(j)}}
    for update of j
)
