-- All servers that ever registered.
-- returns: number, id, addr, port
select n.number, n.id, n.addr, n.port
from pgdisque.node as n
order by n.number
