-- Which tables hold only jobs whose time is over, one in each class at most: see finish_jobs. Between the ends of
-- keeping that belong to it now and those that will next there is one table's time.
-- params: $1 now
-- returns: bucket
-- index: none
select b.bucket
from generate_series(0, 6) as c (class)
cross join lateral (
    select
        (c.class * 4 + (floor(extract(epoch from $1::timestamptz))::bigint / (5 << 3 * c.class) + 3) % 4)::smallint as bucket
) as b
where pg_relation_size(to_regclass('pgdisque.finished_' || b.bucket)) > 0
