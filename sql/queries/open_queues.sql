-- Finds or inserts the rows of queues. A queue that an SQL transaction is creating is left out, because the
-- statement would wait for the commit of that transaction. The subquery is scalar, because Postgres 18 may read
-- the whole table for EXISTS. The first request with a wish sets the consume end.
-- params: $1 name, $2 consume_end (null: no wish), one row per queue
-- returns: id, name, pause, created_at, consume_end
-- locks: the rows, in the order of the names; the caller sends each name once
-- index: queue_name
insert into pgdisque.queue as q (name, consume_end)
select n.name, n.consume_end
from unnest($1::bytea[], $2::smallint[]) as n (name, consume_end)
where (select true from pgdisque.queue as k where sha256(k.name) = sha256(n.name))
   or pg_try_advisory_xact_lock_shared(7712, hashtext(encode(n.name, 'hex')))
on conflict (sha256(name)) do update set consume_end = coalesce(q.consume_end, excluded.consume_end)
returning id, name, pause, created_at, consume_end
