-- A server that does not live any more has left. If it lives after all it will say so.
-- params: $1 id
-- index: node_id_key
update pgdisque.node as n
set left_at = now()
where n.id = $1::text
