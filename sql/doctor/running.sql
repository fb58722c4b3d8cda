-- The oldest running job of queues: delivered many times, leased for a long time, or leased for ever. Reads
-- only the first 1000 queues and the first 100 rows of each.
-- params: $1 patience (seconds; the limit is sixty times that)
-- index: job_pkey
with longest as (
    select q.name, j.*
    from (select r.id, r.name from pgdisque.queue as r order by r.id limit 1000) as q,
        lateral (
            select
                f.retry, f.deliveries, f.owner, f.ready_at,
                {{created_at(f.id)}} as made_at
            from (
                select r.*
                from pgdisque.job as r
                where r.queue_id = any (array[q.id])
                order by r.queue_id, r.rank, r.id
                limit 100
            ) as f
            where {{is_leased(f, clock_timestamp())}}
              and f.expires_at > clock_timestamp()
            order by f.id
            limit 1
        ) as j
)
select
    case when l.deliveries >= 10 then 'warning' else 'note' end as severity,
    format('the oldest running job of queue "%s" was made %s ago and delivered %s times; %s',
           encode(substr(l.name, 1, 60), 'escape'), date_trunc('second', clock_timestamp() - l.made_at), l.deliveries,
           case l.retry
               when 0 then 'with RETRY 0 it is not given out again'
               else format('server %s has given it out, for %s more', l.owner,
                           date_trunc('second', l.ready_at - clock_timestamp()))
           end) as finding,
    case
        when l.retry = 0 then 'its consumer died, or never acknowledges: JSCAN STATE active, then DELJOB or ENQUEUE'
        when l.deliveries >= 10 then 'its consumers die of it, or take longer than its RETRY: SHOW it, '
            'then DELJOB or a '
                                     'longer RETRY'
        else 'see whether its consumer still lives; ENQUEUE gives it to another one now'
    end as advice
from longest as l
where l.made_at < clock_timestamp() - $1::double precision * interval '60 seconds'
  and (l.deliveries >= 10 or l.retry = 0
       or l.ready_at - l.retry * interval '1 second' < clock_timestamp() - $1::double precision * interval '60 seconds')
order by l.made_at
limit 5
