-- Finds predecessors that held jobs as dead letters, and whose dead letters were deleted: ON FAIL hold.
-- params: $1 id (the page begins after it), $2 limit
-- returns: id, has_ended; these predecessors, and the last predecessor of the page; in the order of the ids
-- index: dependency_held, flow_job_pkey, dead_pkey
with page as materialized (
    select d.predecessor_id as id
    from pgdisque.dependency as d
    where d.holds
      and not d.is_counted
      and d.predecessor_id > $1::bigint
    order by d.predecessor_id
    limit $2::integer
),
looked as (
    select p.id, f.is_settled and not {{is_dead_letter(f)}} as has_ended
    from (
        select distinct q.id
        from page as q
    ) as p
    join pgdisque.flow_job as f on f.id = any (array[p.id])
)
{{ended_of_page(looked)}}
