-- Deletes those groups of a page that have no jobs and were not used for a while. A group that lacks tokens of its rate
-- stays, because a new row has all tokens.
-- params: $1 before, $2 limit (of the page), $3 now, $4 queue_id, $5 key (the page begins after this group)
-- returns: queue_id, key; the last group of a full page
-- locks: the groups; skips locked rows
-- index: job_group_pkey; job_in_group and queue_setting_pkey for each group; then by ctid
with page as materialized (
    select g.ctid as place, g.queue_id, g.key, g.used_at, g.tokens, g.settled_at
    from pgdisque.job_group as g
    where (g.queue_id, g.key) > ($4::integer, $5::bytea)
    order by g.queue_id, g.key
    limit $2::integer
),
gone as (
    delete from pgdisque.job_group as g
    where g.ctid = any (array(
        select o.ctid
        from page as p
        join pgdisque.job_group as o on o.ctid = p.place
        where p.used_at < $1::timestamptz
          and not exists (
              select
              from pgdisque.job as j
              where j.queue_id = any (array[p.queue_id]) and j.group_key = p.key and j.group_key is not null
          )
          and not exists (
              select
              from (
                  {{group_limits(p.queue_id)}}
              ) as l
              where l.rate > 0
                and {{group_tokens(p, l, $3::timestamptz)}} < l.burst
          )
        for update of o skip locked
    ))
)
-- The rows of page keep their order.
select p.queue_id, p.key
from page as p
offset $2::integer - 1
