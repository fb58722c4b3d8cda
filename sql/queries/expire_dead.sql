-- Deletes dead jobs that their queues no longer keep: QCONFIG dead-retention.
-- params: $1 queue_id, $2 died_at (not later), $3 limit of each queue
-- returns: queue_id; a row for each deleted job
-- locks: the rows; skips locked rows
-- index: dead_died, then by ctid
delete from pgdisque.dead_job as d
where d.ctid = any (array(
    select o.ctid
    from unnest($1::integer[], $2::timestamptz[]) as k (queue_id, died_at)
    cross join lateral (
        select e.ctid
        from pgdisque.dead_job as e
        where e.queue_id::bigint = k.queue_id::bigint
          and e.died_at <= k.died_at
        order by e.died_at
        limit $3::integer
        for update skip locked
    ) as o
))
returning d.queue_id
