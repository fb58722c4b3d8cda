-- Reads all registered servers that are not forgotten.
-- returns: number, id, addr, port, leaving, has_left, seen_at
select n.number, n.id, n.addr, n.port, n.leaving, n.left_at is not null as has_left, n.seen_at
from pgdisque.node as n
order by n.number
