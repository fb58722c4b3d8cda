-- Deletes groups without jobs that were not used for a while.
-- params: $1 before, $2 limit
-- locks: the groups; skips locked rows
-- index: job_in_group for each group
delete from pgdisque.job_group as g
where g.ctid = any (array(
    select o.ctid
    from pgdisque.job_group as o
    where o.used_at < $1::timestamptz
      and not exists (
          select
          from pgdisque.job as j
          where j.queue_id = any (array[o.queue_id]) and j.group_key = o.key and j.group_key is not null
      )
    limit $2::integer
    for update skip locked
))
