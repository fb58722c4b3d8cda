-- Adds or replaces schedules: SCHEDULE. If the times are unchanged, the next tick is kept, so that programs can
-- send the command at each start.
-- params: $1 name, $2 cron, $3 queue, $4 body, $5 missed, $6 retry, $7 ttl, $8 delay, $9 maxlen (0: none),
--         $10 priority, $11 next_at, $12 attempts, $13 backoff (0: none), $14 deadqueue (empty: none), $15 headers,
--         $16 unique_key, $17 group_key (each null: none), $18 overlap (0: none),
--         $19 unique_start (1: the key is free once the job was delivered); the caller sends each name once
-- locks: the rows, in the order of the parameters
-- index: schedule_name
insert into pgdisque.schedule as s
    (name, cron, queue, body, missed, retry, ttl, delay, maxlen, priority, next_at, attempts, backoff, deadqueue,
     headers, unique_key, group_key, overlap, unique_start)
select
    p.name, convert_from(p.cron, 'SQL_ASCII'), p.queue, p.body, p.missed, p.retry, p.ttl, p.delay,
    nullif(p.maxlen, 0), p.priority, p.next_at, nullif(p.attempts, 0), nullif(p.backoff, 0),
    nullif(p.deadqueue, ''), p.headers, p.unique_key, p.group_key, nullif(p.overlap, 0),
    nullif(p.unique_start = 1, false)
from unnest(
    $1::bytea[], $2::bytea[], $3::bytea[], $4::bytea[], $5::smallint[], $6::integer[], $7::integer[],
    $8::integer[], $9::bigint[], $10::smallint[], $11::timestamptz[], $12::integer[], $13::integer[], $14::bytea[],
    $15::jsonb[], $16::bytea[], $17::bytea[], $18::smallint[], $19::smallint[]
) as p (
    name, cron, queue, body, missed, retry, ttl, delay, maxlen, priority, next_at, attempts, backoff, deadqueue,
    headers, unique_key, group_key, overlap, unique_start
)
on conflict (sha256(name)) do update
set has_tick = s.has_tick or s.cron <> excluded.cron,
    {{replace_schedule(s)}}
