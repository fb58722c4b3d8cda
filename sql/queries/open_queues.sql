-- Finds or inserts the rows of queues. A queue that an SQL transaction is creating is left out, because the
-- statement would wait for the commit of that transaction. The subquery is scalar, because Postgres 18 may read
-- the whole table for EXISTS.
-- params: $1 name
-- returns: id, name, pause, created_at
-- locks: the rows, in the order of the names; the caller sends each name once
-- index: queue_name
insert into pgdisque.queue (name)
select n.name
from unnest($1::bytea[]) as n (name)
where (select true from pgdisque.queue as q where sha256(q.name) = sha256(n.name))
   or pg_try_advisory_xact_lock_shared(7712, hashtext(encode(n.name, 'hex')))
on conflict (sha256(name)) do update set name = excluded.name
returning id, name, pause, created_at
