-- Marks a failed server as left. If it is still alive, it writes its row again.
-- params: $1 id
-- index: node_id_key
update pgdisque.node as n
set left_at = now()
where n.id = $1::text
