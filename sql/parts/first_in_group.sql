-- first_in_group(l, where, now): the keys of the first jobs of the group l of next_in_groups that satisfy the condition
-- and are not released. One more than there are tokens.
(
    select j.rank, j.id
    from pgdisque.job as j
    where j.queue_id = :l.queue_id
      and j.group_key = :l.key
      and j.group_key is not null
      and :where
      and j.expires_at > :now
      and j.id <> all (coalesce(:l.ids, '{}'))
    order by j.rank, j.id
    limit least(:l.places, :l.whole_tokens + 1)
)
