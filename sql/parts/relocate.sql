-- relocate(queue_id, now, to_queue_ids, to_ids): moves the jobs that the query found selected, by place and ordinal
--
-- A job whose to_queue_id is 0 is only deleted. placed is each job as it was, with to_wake_at and to_expires_at. The
-- row is deleted and inserted, not updated: a claim that follows an updated row to its new key would skip the keys
-- in between. The job leaves its group: it is queued at once under an id that pgdisque.job_group does not know.
gone as (
    delete from pgdisque.job as j
    using found as f
    join unnest(:to_queue_ids, :to_ids) with ordinality as t (to_queue_id, to_id, ordinal) on t.ordinal = f.ordinal
    where j.ctid = f.place
    -- In another list the expiry that EXPIRE has set does not apply.
    returning
        f.ordinal, t.to_queue_id, t.to_id, t.to_queue_id <> :queue_id as is_other,
        greatest(j.expires_at, case when t.to_queue_id <> :queue_id then j.own_expires_at end) as to_expires_at,
        j.*
),
placed as (
    -- A job with a negative id does not expire in the order of ids, so it needs a wake_at. A job without an end
    -- needs none.
    select
        g.*,
        case
            when g.to_id > 0 and (g.wake_at is null or g.to_expires_at > :now + interval '18300 days') then null
            else g.to_expires_at
        end as to_wake_at
    from gone as g
),
moved as (
    insert into pgdisque.job
        (id, ready_at, expires_at, wake_at, queue_id, retry, delay, deliveries, nacks, additional_deliveries,
         rank, replicate, body, attempts, backoff, deadqueue, error, own_expires_at,
         {{metadata_columns()}})
    select
        g.to_id, :now, g.to_expires_at, g.to_wake_at, g.to_queue_id, g.retry, g.delay, g.deliveries,
        g.nacks, g.additional_deliveries, 0, g.replicate, g.body, g.attempts, g.backoff, g.deadqueue, g.error,
        case when not g.is_other then g.own_expires_at end, {{metadata(g)}}
    from placed as g
    where g.to_queue_id <> 0
)
