-- dead_view(d, with_body): the columns of a dead job for view, and the bytes that it takes in a result
:d.queue_id, :d.rank, :d.id, timestamptz 'infinity' as ready_at, :d.expires_at, false as delayed,
null::smallint as owner, :d.retry, :d.delay, :d.nacks, :d.additional_deliveries, :d.replicate,
case when :with_body::boolean and :d.matches then :d.body end as body,
:d.deliveries, :d.attempts, :d.backoff, null::bytea as deadqueue, :d.error, :d.died_at, :d.unique_key,
null::bytea as group_key, null::text as worker,
:d.matches, {{metadata_of(:d, (:with_body::boolean and :d.matches))}},
256 + case when :with_body::boolean and :d.matches then octet_length(:d.body) + {{metadata_bytes(:d)}} else 0 end
+ coalesce(octet_length(:d.error), 0) + coalesce(octet_length(:d.unique_key), 0) as bytes
