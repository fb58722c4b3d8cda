-- extend(now, node): the columns of a job j whose lease begins again by WORKING; old is the row of the request
ready_at = :now + (old.lease + old.wait) * interval '1 second',
wake_at = {{wake_at_end(j)}},
-- With its token a worker continues its own delivery, unless the job was delivered to another worker.
additional_deliveries = j.additional_deliveries
    + case when old.was_queued and j.owner is not null and not old.has_token then 1 else 0 end,
worker = coalesce(case when not old.was_queued then j.worker end, convert_from(old.worker, 'UTF8')),
owner = :node,
progress = coalesce(old.progress, j.progress),
leased_at = old.leased_at
