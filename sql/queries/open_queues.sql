-- Finds or makes the rows of queues.
-- params: $1 name
-- returns: id, name, pause, created_at
-- locks: the rows, in the order of the names; the caller sends each name once
-- index: queue_name
insert into pgdisque.queue (name)
select n.name
from unnest($1::bytea[]) as n (name)
on conflict (sha256(name)) do update set name = excluded.name
returning id, name, pause, created_at
