-- Marks servers as left that were not seen for a day. Their rows stay until numbers become scarce, because job
-- IDs contain the servers' IDs.
-- params: $1 now, $2 id (of this server)
-- locks: the rows
with forgotten as (
    delete from pgdisque.node as n
    where n.id <> $2::text
      and n.left_at < $1::timestamptz - interval '1 hour'
      and (select count(*) from pgdisque.node) > 900
)
update pgdisque.node as n
set left_at = n.seen_at
where n.id <> $2::text
  and n.left_at is null
  and n.seen_at < $1::timestamptz - interval '1 day'
