-- retain(): the statements retain_jobs and retain_required
with k as materialized (
    select k.queue_id, k.rank, k.id, k.token, k.retention, k.worker, k.result, k.ordinal
    from unnest($1::integer[], $2::smallint[], $3::bigint[], $4::bigint[], $5::integer[], $6::bytea[], $7::bytea[])
        with ordinality as k (queue_id, rank, id, token, retention, worker, result, ordinal)
),
gone as (
    delete from pgdisque.job as j
    using k
    where j.queue_id = any (array[k.queue_id])
      and j.rank = k.rank
      and j.id = k.id
      and j.expires_at > $8::timestamptz
      and k.token in (0, {{token(j)}})
    returning
        k.ordinal, k.retention, k.worker, k.result, j.queue_id, j.rank, j.id, j.ready_at, j.wake_at, j.expires_at,
        j.owner, j.retry, j.delay, j.deliveries, j.attempts, j.nacks, j.additional_deliveries, j.replicate,
        j.error, j.group_key, j.in_flow, j.body, {{metadata(j)}}
),
timed as (
    select
        g.*,
        coalesce(
            nullif(coalesce(g.retention, (
                select convert_from(s.value, 'UTF8')::integer
                from pgdisque.queue_setting as s
                where s.queue_id = g.queue_id
                  and s.name = 'retention'
            )), 0),
            case when g.result is not null then 60 end
        ) as seconds
    from gone as g
),
kept as (
    insert into pgdisque.retained (
        id, finished_at, keep_until, expires_at, queue_id, retry, delay, deliveries, nacks,
        additional_deliveries, rank, replicate, bucket, node, worker, error, result, body,
        {{metadata_columns()}}
    )
    select
        t.id, $8::timestamptz, u.keep_until, t.expires_at, t.queue_id, t.retry, t.delay, t.deliveries, t.nacks,
        {{additional(t, $8::timestamptz)}},
        t.rank, t.replicate,
        c.class * 4 + floor(extract(epoch from u.keep_until))::bigint / (5 << 3 * c.class) % 4,
        $9::smallint, encode(t.worker, 'escape'), t.error, t.result, t.body,
        {{metadata(t)}}
    from timed as t
    cross join lateral (select $8::timestamptz + t.seconds * interval '1 second' as keep_until) as u
    cross join lateral (
        select width_bucket(t.seconds, '{11,81,641,5121,40961,327681}'::integer[]) as class
    ) as c
    where t.seconds is not null
),
noted as (
    -- As note_failure: the row exists, and may be newer than this statement.
    insert into pgdisque.flow_job as f (id, queue_id, rank, expires_at, retry, outcome, result)
    select
        t.id, t.queue_id, t.rank, t.expires_at, t.retry, case when t.worker is null then 3 else 1 end, t.result
    from timed as t
    where t.in_flow
    on conflict (id) do update
    set outcome = coalesce(f.outcome, excluded.outcome), result = excluded.result
)
select
    t.ordinal::integer,
    {{queued_since(t, $8::timestamptz)}} as queued_since,
    t.seconds is not null as is_kept,
    t.group_key, t.in_flow
from timed as t
union all
select k.ordinal::integer, null, false, null, null
from k
join pgdisque.job as j on j.queue_id = any (array[k.queue_id]) and j.rank = k.rank and j.id = k.id
where j.expires_at > $8::timestamptz
  and k.token not in (0, {{token(j)}})
