-- waiting_view(w, with_body): the columns of a waiting job for view, and the bytes that it takes in a result
:w.queue_id, :w.rank, :w.id, timestamptz 'infinity' as ready_at, :w.expires_at, false as delayed,
null::smallint as owner, :w.retry, :w.delay, 0 as nacks, 0 as additional_deliveries, :w.replicate,
case when :with_body::boolean and :w.matches then :w.body end as body,
0 as deliveries, :w.attempts, :w.backoff, :w.deadqueue, null::bytea as error, null::timestamptz as died_at,
null::bytea as unique_key, :w.group_key, null::text as worker, :w.matches,
case when :with_body::boolean and :w.matches then :w.headers end as headers,
null::jsonb as progress, null::jsonb as errors,
256 + case when :with_body::boolean and :w.matches
    then octet_length(:w.body) + coalesce(octet_length(:w.headers::text), 0) else 0 end
+ coalesce(octet_length(:w.deadqueue), 0) + coalesce(octet_length(:w.group_key), 0) as bytes
