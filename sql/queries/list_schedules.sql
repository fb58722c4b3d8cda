-- Reads schedules: SCHEDULES.
-- params: $1 names (null: all schedules, without their jobs), $2 now
-- returns: name, cron, queue, missed, next_at (null: not computed yet), last_at, body (null: all schedules), retry,
--          ttl, delay, maxlen (null: none), priority, attempts, backoff, deadqueue (null: none), headers,
--          unique_key, group_key, overlap (each null: none), unique_start (null: false), run_headers (with now as the
--          tick); in the order of the names
select
    s.name, s.cron, s.queue, s.missed, case when s.has_tick then s.next_at end as next_at, s.last_at,
    case when $1::bytea[] is not null then s.body end as body, s.retry, s.ttl, s.delay, s.maxlen, s.priority,
    s.attempts, s.backoff, s.deadqueue, s.headers, s.unique_key, s.group_key, s.overlap, s.unique_start,
    case when $1::bytea[] is not null then {{tick_header(s.headers, $2::timestamptz)}} end as run_headers
from pgdisque.schedule as s
where $1::bytea[] is null or s.name = any ($1::bytea[])
order by s.name
