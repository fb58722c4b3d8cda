-- Stores settings of queues: QCONFIG SET. No setting is named twice. max-active inserts slots. Slots beyond a
-- lowered limit stay, because they show which jobs still run. rate inserts a bucket without tokens, or a full one if
-- the rate has a period or a burst. Such a bucket is fenced against older servers, which find no tokens in it. If
-- another session has locked the bucket, the next claim changes the fence.
--
-- Nothing is stored if a chain of dead-letter queues would lead back to its queue. Nothing is stored either if
-- another session has set a dead-letter queue since the statement began: two sessions could otherwise close a
-- circle together. The second one tries again.
-- params: $1 queue_id, $2 name, $3 value
-- returns: stored, cyclic
-- locks: the rows, in the order of the parameters; the row of deadqueue_graph, if a dead-letter queue is set
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
        (select d.version from pgdisque.deadqueue_graph as d) as version
),
path as (
    update pgdisque.deadqueue_graph as d
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
rates as materialized (
    select s.queue_id, {{needs_fence(s)}} as is_fenced
    from (
        select t.queue_id, t.name, t.value
        from stored as t
        union all
        select o.queue_id, o.name, o.value
        from pgdisque.queue_setting as o
        where o.queue_id in (select t.queue_id from stored as t)
          and (o.queue_id, o.name) not in (select t.queue_id, t.name from stored as t)
    ) as s
    group by s.queue_id
    having bool_or(s.name = 'rate')
),
{{make_buckets(rates)}},
slots as (
    insert into pgdisque.slot (queue_id, n)
    select s.queue_id, g.n
    from stored as s
    cross join lateral generate_series(
        1, case when s.name = 'max-active' then convert_from(s.value, 'UTF8')::integer end)
        as g (n)
    on conflict (queue_id, n) do nothing
)
select exists (select from stored) as stored, v.cyclic
from verdict as v
