-- ended_of_page(page): those rows of page (id, has_ended) that have ended, and the last row; in the order of the ids
select e.id, e.has_ended
from (
    select p.id, p.has_ended, lead(p.id) over (order by p.id) is null as is_last
    from :page as p
) as e
where e.has_ended
   or e.is_last
order by e.id
