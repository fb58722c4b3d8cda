-- Deletes unique keys whose time is over, the oldest first: ADDJOB UNIQUE ... FOR.
-- params: $1 now, $2 limit, $3 from (a time; the keys before it were deleted, or are locked)
-- returns: until; the latest time of the deleted keys, if they are as many as the limit
-- locks: the rows; skips locked rows
-- index: unique_key_until, then by ctid
with gone as (
    delete from pgdisque.unique_key as k
    where k.ctid = any (array(
        select d.ctid
        from pgdisque.unique_key as d
        where d.until >= $3::timestamptz
          and d.until <= $1::timestamptz
        order by d.until
        limit $2::integer
        for update skip locked
    ))
    returning k.until
)
select max(g.until) as until
from gone as g
having count(*) >= $2::integer
