-- tail(table, pages, least): the place behind which the last pages of a table lie
--
-- It is null if the table has no more pages than least.
-- While an old snapshot keeps the versions of the rows, new versions are added at the end. A scan from this place finds
-- rows that change often without their former versions.
(
    select format('(%s,0)', p.pages - (:pages))::tid
    from (select pg_relation_size(:table::regclass) / current_setting('block_size')::integer as pages) as p
    where p.pages > (:least)
)
