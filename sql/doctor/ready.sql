-- The oldest ready job of queues. Reads only the first 1000 queues and the first 100 rows of each.
-- params: $1 patience (seconds; the limit is sixty times that)
-- index: job_pkey
with oldest as (
    select q.name, q.pause, j.ready_at, j.deliveries
    from (select r.id, r.name, r.pause from pgdisque.queue as r order by r.id limit 1000) as q,
        lateral (
            select f.ready_at, f.deliveries
            from (
                select r.*
                from pgdisque.job as r
                where r.queue_id = any (array[q.id])
                order by r.queue_id, r.rank, r.id
                limit 100
            ) as f
            where {{is_due(f, clock_timestamp())}}
            order by f.ready_at
            limit 1
        ) as j
)
select
    case when o.pause & 2 > 0 then 'note' else 'warning' end as severity,
    format('the oldest ready job of queue "%s" has waited for %s%s', encode(substr(o.name, 1, 60), 'escape'),
           date_trunc('second', clock_timestamp() - o.ready_at),
           case count(*) over () when 1 then '' else format(' (%s queues have such jobs)', count(*) over ()) end)
        as finding,
    case
        when o.pause & 2 > 0 then 'the queue is paused: PAUSE queue none lets jobs out again'
        else 'check in QSTAT that clients read the queue (blocked, jobs-out), add consumers, or delete unwanted jobs'
    end as advice
from oldest as o
where o.ready_at < clock_timestamp() - $1::double precision * interval '60 seconds'
order by o.ready_at
limit 5
