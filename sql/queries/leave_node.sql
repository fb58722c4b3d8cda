-- Marks this server as left: it stops and has nothing in memory that peers need.
-- params: $1 id
-- index: node_id_key
update pgdisque.node as n
set left_at = now()
where n.id = $1::text
