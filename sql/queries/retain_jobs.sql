-- Deletes jobs that are done. Retains them as QCONFIG retention says, or for a minute if there is a result.
--
-- A job that is kept for up to 10 * 8^c seconds is of class c. A class has four tables, and a table takes the
-- jobs whose keeping ends within the same 5 * 8^c seconds. Jobs go to three of the tables while the fourth is
-- emptied.
-- params: $1 queue_id, $2 rank, $3 id, $4 token (0: none), $5 retention (seconds; null: read from the
--         settings), $6 worker, $7 result, $8 now, $9 node
-- returns: ordinal, queued_since (as ack_jobs; null: the token is stale, and the job is unchanged), is_kept,
--          group_key
-- locks: the rows, in the order of the parameters; a deadlock is repeated by the server
-- index: job_pkey, queue_setting_pkey
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
      and k.token in (0, 1::bigint + j.nacks + j.additional_deliveries)
    returning
        k.ordinal, k.retention, k.worker, k.result, j.queue_id, j.rank, j.id, j.ready_at, j.wake_at, j.expires_at,
        j.owner, j.retry, j.delay, j.deliveries, j.attempts, j.nacks, j.additional_deliveries, j.replicate,
        j.error, j.group_key, j.body
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
        additional_deliveries, rank, replicate, bucket, node, worker, error, result, body
    )
    select
        t.id, $8::timestamptz, u.keep_until, t.expires_at, t.queue_id, t.retry, t.delay, t.deliveries, t.nacks,
        t.additional_deliveries
            + case when t.owner is not null and t.ready_at <= $8::timestamptz then 1 else 0 end,
        t.rank, t.replicate,
        c.class * 4 + floor(extract(epoch from u.keep_until))::bigint / (5 << 3 * c.class) % 4,
        $9::smallint, encode(t.worker, 'escape'), t.error, t.result, t.body
    from timed as t
    cross join lateral (select $8::timestamptz + t.seconds * interval '1 second' as keep_until) as u
    cross join lateral (
        select width_bucket(t.seconds, '{11,81,641,5121,40961,327681}'::integer[]) as class
    ) as c
    where t.seconds is not null
)
select
    t.ordinal::integer,
    {{queued_since(t, $8::timestamptz)}} as queued_since,
    t.seconds is not null as is_kept,
    t.group_key
from timed as t
union all
select k.ordinal::integer, null, false, null
from k
join pgdisque.job as j on j.queue_id = any (array[k.queue_id]) and j.rank = k.rank and j.id = k.id
where j.expires_at > $8::timestamptz
  and k.token not in (0, 1::bigint + j.nacks + j.additional_deliveries)
