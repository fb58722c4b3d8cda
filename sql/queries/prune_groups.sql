-- Deletes groups without jobs that were not used for a while. A group that lacks tokens of its rate stays, because a new
-- row has all tokens.
-- params: $1 before, $2 limit, $3 now
-- locks: the groups; skips locked rows
-- index: job_in_group and queue_setting_pkey for each group
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
      and not exists (
          select
          from (
              {{group_limits(o.queue_id)}}
          ) as l
          where l.rate > 0
            and {{group_tokens(o, l, $3::timestamptz)}} < l.burst
      )
    limit $2::integer
    for update skip locked
))
