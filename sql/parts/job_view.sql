-- job_view(j, with_body): the columns of a job for view, and the bytes that it takes in a result
:j.queue_id, :j.rank, :j.id, :j.ready_at, :j.expires_at, :j.wake_at is not distinct from :j.ready_at as delayed,
:j.owner, :j.retry, :j.delay, :j.nacks, :j.additional_deliveries, :j.replicate,
case when :with_body::boolean and :j.matches then :j.body end as body,
:j.deliveries, :j.attempts, :j.backoff, :j.deadqueue, :j.error, null::timestamptz as died_at,
:j.unique_key, :j.group_key, case when :j.owner is not null then :j.worker end as worker,
:j.matches, {{metadata_of(:j, (:with_body::boolean and :j.matches))}},
256 + case when :with_body::boolean and :j.matches then octet_length(:j.body) + {{metadata_bytes(:j)}} else 0 end
+ coalesce(octet_length(:j.deadqueue), 0) + coalesce(octet_length(:j.error), 0)
+ coalesce(octet_length(:j.unique_key), 0) + coalesce(octet_length(:j.group_key), 0)
+ coalesce(octet_length(:j.worker), 0) as bytes
