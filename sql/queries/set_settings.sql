-- Stores settings of a queue: QCONFIG SET. None is named twice. A limit on running jobs has its slots; those beyond a
-- lower one stay, since they tell what is running still. A rate has its tokens, none at first. Nothing is stored when its dead queue leads back to it, nor
-- when another server has set a dead queue since this statement began: of two that close a circle together, the
-- second one looks again.
-- params: $1 queue_id, $2 name, $3 value
-- returns: stored, cyclic
-- locks: the rows, in the order of the parameters; that of dead_path, if a dead queue is set
-- index: queue_setting_pkey, slot_pkey, bucket_pkey, queue_name
with recursive wanted as materialized (
    select n.queue_id, convert_from(n.name, 'UTF8') as name, n.value
    from unnest($1::integer[], $2::bytea[], $3::bytea[]) as n (queue_id, name, value)
),
chain as (
    select w.queue_id as from_id, q.id as to_id
    from wanted as w
    join pgdisque.queue as q on sha256(q.name) = any (array[sha256(w.value)])
    where w.name = 'deadqueue'
    union
    select c.from_id, q.id
    from chain as c
    join pgdisque.queue_setting as s on s.queue_id = any (array[c.to_id]) and s.name = 'deadqueue'
    join pgdisque.queue as q on sha256(q.name) = any (array[sha256(s.value)])
    where c.to_id <> c.from_id
),
verdict as materialized (
    select
        exists (select from chain as c where c.to_id = c.from_id) as cyclic,
        exists (select from wanted as w where w.name = 'deadqueue') as has_deadqueue,
        (select d.version from pgdisque.dead_path as d) as version
),
path as (
    update pgdisque.dead_path as d
    set version = d.version + 1
    from verdict as v
    where d.version = v.version
      and v.has_deadqueue
      and not v.cyclic
    returning d.version
),
stored as (
    insert into pgdisque.queue_setting as s (queue_id, name, value)
    select w.queue_id, w.name, w.value
    from wanted as w
    cross join verdict as v
    where not v.has_deadqueue
       or exists (select from path)
    on conflict (queue_id, name) do update
    set value = excluded.value
    returning s.queue_id, s.name, s.value
),
tokens as (
    insert into pgdisque.bucket (queue_id)
    select s.queue_id
    from stored as s
    where s.name = 'rate'
    on conflict (queue_id) do nothing
),
slots as (
    insert into pgdisque.slot (queue_id, n)
    select s.queue_id, g.n
    from stored as s
    cross join lateral generate_series(1, case when s.name = 'max-active' then convert_from(s.value, 'UTF8')::integer end)
        as g (n)
    on conflict (queue_id, n) do nothing
)
select exists (select from stored) as stored, v.cyclic
from verdict as v
