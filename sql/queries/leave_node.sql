-- A server has signed off: it holds nothing in memory that others would have to wait for.
-- params: $1 id
-- index: node_id_key
update pgdisque.node as n
set left_at = now()
where n.id = $1::text
