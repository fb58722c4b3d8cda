-- Finds groups with a waiting job that may be released. The job before it has expired, or was removed by an SQL
-- function, or by a server that failed before the release. Or the group, or the limit of its queue, is new.
-- params: $1 now, $2 limit
-- returns: queue_id, key
-- index: job_in_group from group to group; job_group_pkey, queue_setting_pkey and job_pkey for each
with recursive place as (
    (
        select j.queue_id, j.group_key as key
        from pgdisque.job as j
        where j.group_key is not null
        order by j.queue_id, j.group_key
        limit 1
    )
    union all
    select n.queue_id, n.key
    from place as p
    cross join lateral (
        select j.queue_id, j.group_key as key
        from pgdisque.job as j
        where j.group_key is not null
          and (j.queue_id, j.group_key) > (p.queue_id, p.key)
        order by j.queue_id, j.group_key
        limit 1
    ) as n
)
select p.queue_id, p.key
from place as p
left join pgdisque.job_group as g on g.queue_id = any (array[p.queue_id]) and g.key = p.key
cross join lateral (
    select count(*) as jobs
    from (
        select g.rank, g.id
        union all
        select u.rank, u.id
        from unnest(g.ranks, g.ids) as u (rank, id)
    ) as o
    cross join lateral (
        select
        from pgdisque.job as j
        where j.queue_id = any (array[p.queue_id])
          and j.rank = o.rank
          and j.id = o.id
          and j.expires_at > $1::timestamptz
        limit 1
    ) as h
) as a
-- Servers send the requests for groups that wait for tokens. Only overdue groups are found here, and those that would
-- wait longer than their rate needs, because the rate has changed.
where coalesce(
    g.next_at < $1::timestamptz - interval '1 second'
    or g.next_at > (
        select g.settled_at + (1 + greatest(1, least(l.burst, l.rate / 100)) / nullif(l.rate, 0)) * interval '1 second'
        from (
            {{group_limits(p.queue_id)}}
        ) as l
    ),
    true)
  and (
      a.jobs = 0
      or a.jobs < (
          select l.most
          from (
              {{group_limits(p.queue_id)}}
          ) as l
      )
  )
  and exists (
      select
      from pgdisque.job as j
      where j.queue_id = any (array[p.queue_id]) and j.group_key = p.key and j.group_key is not null
        and j.expires_at > $1::timestamptz
        and {{waits_in_group(j)}}
  )
limit $2::integer
