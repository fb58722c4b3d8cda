-- Finds or inserts the rows of queues. A queue that an SQL transaction is creating is left out, because the
-- statement would wait for the commit of that transaction. The subquery is scalar, because Postgres 18 may read
-- the whole table for EXISTS. The first request with a wish sets the consume end.
-- params: $1 name, $2 front (null: no wish), one row per queue
-- returns: id, name, pause, created_at, front
-- locks: the rows, in the order of the names; the caller sends each name once
-- index: queue_name
insert into pgdisque.queue as q (name, front)
select n.name, n.front
from unnest($1::bytea[], $2::smallint[]) as n (name, front)
where (select true from pgdisque.queue as k where sha256(k.name) = sha256(n.name))
   or pg_try_advisory_xact_lock_shared(7712, hashtext(encode(n.name, 'hex')))
on conflict (sha256(name)) do update set front = coalesce(q.front, excluded.front)
returning id, name, pause, created_at, front
