-- Reads the secret that all servers of this database share.
-- returns: key
select s.key
from pgdisque.secret as s
