-- Deletes unique keys whose time is over: ADDJOB UNIQUE ... FOR.
-- params: $1 now, $2 limit
-- locks: the rows; skips locked rows
-- index: unique_key_until, then by ctid
delete from pgdisque.unique_key as k
where k.ctid = any (array(
    select d.ctid
    from pgdisque.unique_key as d
    where d.until <= $1::timestamptz
    order by d.until
    limit $2::integer
    for update skip locked
))
