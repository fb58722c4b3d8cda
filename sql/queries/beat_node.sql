-- Writes the heartbeat of this server. It is written rarely, because servers normally receive each other's messages.
-- params: $1 id, $2 leaving
-- returns: number; no row if the server was forgotten
-- index: node_id_key
update pgdisque.node as n
set seen_at = now(),
    left_at = null,
    leaving = $2::boolean
where n.id = $1::text
returning n.number
