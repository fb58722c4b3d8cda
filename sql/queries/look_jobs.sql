-- Reads the state of jobs: WAITJOB, and ACKJOB after a lost connection. Nulls for a job that is not retained. After
-- results of 16 MB, further results are left out.
-- params: $1 queue_id, $2 rank, $3 id, $4 now
-- returns: ordinal, lives, finished_at, node, result, is_dead, error, is_left_out; in the order of the parameters
-- index: job_pkey, waiting_job_id, dead_pkey, retained_0_pkey and the same of the other partitions
select
    s.ordinal::integer, s.lives, s.finished_at, s.node,
    case when s.bytes_before < 16777216 then s.result end as result,
    s.is_dead, s.error,
    s.bytes_before >= 16777216 and s.result is not null as is_left_out
from (
    select
        k.ordinal, j.id is not null or w.id is not null as lives,
        f.finished_at, f.node, f.result, d.id is not null as is_dead, d.error,
        coalesce(sum(octet_length(f.result)) over (
            order by k.ordinal
            rows between unbounded preceding and 1 preceding
        ), 0) as bytes_before
    from unnest($1::integer[], $2::smallint[], $3::bigint[]) with ordinality as k (queue_id, rank, id, ordinal)
    left join pgdisque.job as j
        on j.queue_id = any (array[k.queue_id]) and j.rank = k.rank and j.id = k.id and j.expires_at > $4::timestamptz
    left join pgdisque.waiting_job as w on w.id = any (array[k.id]) and {{is_after(w.expires_at, $4)}}
    left join pgdisque.dead_job as d on d.queue_id = any (array[k.queue_id]) and d.rank = k.rank and d.id = k.id
    left join lateral (
        select e.finished_at, e.node, e.result
        from pgdisque.retained as e
        where e.queue_id = any (array[k.queue_id])
          and e.rank = k.rank
          and e.id = k.id
          and e.keep_until > $4::timestamptz
          and j.id is null
        -- For a job that still exists, the tables of retained jobs are not read.
        limit 1
    ) as f on true
) as s
order by s.ordinal
