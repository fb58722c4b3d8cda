-- Finds jobs that have ended and whose end was not counted, in a page of the open jobs: after the crash of a server,
-- after an end by SQL or by a list command, and when the time to live of a waiting job is over.
-- params: $1 now, $2 id (the page begins after it), $3 limit
-- returns: id, has_ended; the jobs that have ended, and the last job of the page
-- index: flow_job_state, job_pkey, waiting_job_id
with page as materialized (
    select f.id, f.queue_id, f.rank
    from pgdisque.flow_job as f
    -- Row comparisons, because the primary key would read all settled jobs between two others.
    where (f.is_settled, f.id) > (false, $2::bigint)
      and (f.is_settled, f.id) < (true, bigint '-9223372036854775808')
    order by f.is_settled, f.id
    limit $3::integer
),
looked as (
    select
        p.id,
        not exists (
            select
            from pgdisque.job as j
            where j.queue_id = any (array[p.queue_id]) and j.rank = p.rank and j.id = p.id
        ) and not exists (
            select
            from pgdisque.waiting_job as w
            where w.id = any (array[p.id])
              and w.outcome is null
              and {{is_after(w.expires_at, $1)}}
        ) as has_ended
    from page as p
)
{{ended_of_page(looked)}}
