-- insert_released(jobs, now): adds jobs that no longer wait to their queues
--
-- They may be older than jobs that were delivered, so each has a wake_at. Its delay begins now. A job of a group waits
-- for its release (next_in_groups).
insert into pgdisque.job
    (id, ready_at, expires_at, wake_at, queue_id, retry, delay, rank, replicate, body, attempts, backoff, deadqueue,
     group_key, headers, in_flow)
select
    r.id,
    case
        when r.group_key is not null then 'infinity'
        else :now + r.delay * interval '1 second'
    end,
    r.expires_at,
    case
        when r.delay > 0 then :now + r.delay * interval '1 second'
        else r.expires_at
    end,
    r.queue_id, r.retry, r.delay, r.rank, r.replicate, r.body, r.attempts, r.backoff, r.deadqueue, r.group_key,
    r.headers, true
from :jobs as r
