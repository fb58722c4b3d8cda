-- Reads the schedules with the first ticks, due or not.
-- params: $1 from (next_at not before; avoids passing over dead rows), $2 limit
-- returns: id, revision, next_at, cron, queue, missed, retry, ttl, delay, maxlen, priority,
--          has_tick, group_key, overlap (null: none); in the order of next_at
-- index: schedule_next
select
    s.id, s.revision, s.next_at, s.cron, s.queue, s.missed, s.retry, s.ttl, s.delay, s.maxlen,
    s.priority, s.has_tick,
    s.group_key, s.overlap
from pgdisque.schedule as s
where s.next_at >= $1::timestamptz
order by s.next_at
limit $2::integer
