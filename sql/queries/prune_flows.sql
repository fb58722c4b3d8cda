-- Deletes settled jobs that no job waits for and that are no dead letters, in a page of the settled jobs; their
-- dependencies; and old batches. Finds settled jobs whose end must be counted once more: a session added a dependency
-- while a statement counted the end, and committed after the begin of that statement, which did not see the dependency.
-- stuck_holds finds the others.
-- params: $1 before (jobs settled earlier), $2 before (batches completed earlier), $3 id (the page begins after it),
--         $4 limit, $5 before (batches with failed or cancelled jobs)
-- returns: id, has_ended; the jobs whose end must be counted once more, and the last job of the page
-- locks: the rows; skips locked rows
-- index: flow_job_state, flow_job_pkey, dependency_of_predecessor, dependency_pkey, dead_pkey, batch_completed
with page as materialized (
    select f.id, f.queue_id, f.rank, f.ended_at
    from pgdisque.flow_job as f
    -- A row comparison, because the primary key would read all open jobs between two settled ones.
    where (f.is_settled, f.id) > (true, $3::bigint)
    order by f.is_settled, f.id
    limit $4::integer
),
looked as materialized (
    select
        p.id,
        p.ended_at < $1::timestamptz
        and not exists (select from pgdisque.dependency as d where d.predecessor_id = any (array[p.id]))
        and not {{is_dead_letter(p)}} as is_old,
        exists (
            select
            from pgdisque.dependency as d
            where d.predecessor_id = any (array[p.id])
              and not d.is_counted
              and not d.holds
        ) as has_ended
    from page as p
),
old as materialized (
    select f.id
    from pgdisque.flow_job as f
    where f.id = any (array(select l.id from looked as l where l.is_old))
    for update skip locked
),
gone as (
    delete from pgdisque.flow_job as f
    where f.id = any (array(select o.id from old as o))
),
unlinked as (
    delete from pgdisque.dependency as d
    where d.successor_id = any (array(select o.id from old as o))
),
forgotten as (
    delete from pgdisque.batch as b
    where b.id = any (array(
        select n.id
        from (values (false, $2::timestamptz), (true, $5::timestamptz)) as k (has_failed, before)
        cross join lateral (
            select o.id
            from pgdisque.batch as o
            where (o.failed + o.cancelled > 0) = k.has_failed
              and o.completed_at < k.before
            limit $4::integer
            for update skip locked
        ) as n
    ))
)
{{ended_of_page(looked)}}
