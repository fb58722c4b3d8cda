-- places_of_dead(jobs, queue): an array of the places (ctid) of dead jobs whose rows are locked
--
-- The limit lets the planner only search the whole key, one job at a time.
array(
    select o.place
    from :jobs as g
    cross join lateral (
        select d.ctid as place
        from pgdisque.dead_job as d
        where d.queue_id = any (array[:queue::integer])
          and d.rank = g.rank
          and d.id = g.id
        limit 1
    ) as o
)
