-- view(row, pending): the columns of scan_jobs; pending: jobs that it waits for, or null
:row.size, :row.queue_id, :row.rank, :row.id, :row.ready_at, :row.expires_at, :row.delayed, :row.owner, :row.retry,
:row.delay, :row.nacks, :row.additional_deliveries, :row.replicate, :row.body, :row.deliveries, :row.attempts,
:row.backoff, :row.deadqueue, :row.error, :row.died_at, :row.unique_key, :row.group_key, {{metadata(:row)}},
:pending as pending, :row.worker, :row.matches
