-- Inserts the rows of queues that a server knows and the database lacks, and sets the consume ends that it lacks: a
-- standby was promoted that had not received them.
-- params: $1 id, $2 name, $3 pause, $4 consume_end (null: none)
-- returns: restored, strange (queues whose id or name belongs to another queue), last_id (of the sequence, if
--          it was moved); one row
-- locks: the rows of queues without a consume end, in the order of their ids
with known as (
    select k.id, k.name, k.pause, k.consume_end
    from unnest($1::integer[], $2::bytea[], $3::smallint[], $4::smallint[]) as k (id, name, pause, consume_end)
),
restored as (
    insert into pgdisque.queue (id, name, pause, consume_end) overriding system value
    select k.id, k.name, k.pause, k.consume_end
    from known as k
    order by k.id
    on conflict do nothing
    returning id
),
unset as (
    select q.id, k.consume_end
    from known as k
    join pgdisque.queue as q on q.id = any (array[k.id])
    where q.name = k.name
      and q.consume_end is null
      and k.consume_end is not null
    order by q.id
    for update of q
),
settled as (
    update pgdisque.queue as q
    set consume_end = u.consume_end
    from unset as u
    where q.id = u.id
),
-- Sets the sequence so that new ids are larger than all restored ids.
moved as (
    select setval(s.name, greatest(nextval(s.name), r.id)) as last_id
    from (select pg_get_serial_sequence('pgdisque.queue', 'id')) as s (name),
        (select max(m.id) from restored as m) as r (id)
    where r.id is not null
)
select
    (select count(*) from restored)::integer as restored,
    (select count(*)
     from known as k
     where exists (select from pgdisque.queue as q where q.id = k.id and q.name <> k.name)
        or exists (select from pgdisque.queue as q where sha256(q.name) = sha256(k.name) and q.id <> k.id)
    )::integer as strange,
    (select m.last_id from moved as m)::bigint as last_id
