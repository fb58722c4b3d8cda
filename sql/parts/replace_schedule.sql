-- replace_schedule(old): sets the columns that a schedule of the same name replaces
--
-- If the times are unchanged, the next tick is kept. The caller sets has_tick.
cron = excluded.cron,
queue = excluded.queue,
body = excluded.body,
missed = excluded.missed,
retry = excluded.retry,
ttl = excluded.ttl,
delay = excluded.delay,
maxlen = excluded.maxlen,
priority = excluded.priority,
attempts = excluded.attempts,
backoff = excluded.backoff,
deadqueue = excluded.deadqueue,
headers = excluded.headers,
unique_key = excluded.unique_key,
group_key = excluded.group_key,
overlap = excluded.overlap,
unique_start = excluded.unique_start,
next_at = case when :old.cron = excluded.cron then :old.next_at else excluded.next_at end,
revision = :old.revision + 1
