-- Finds tables of retained jobs whose time is over, at most one of each class: see retain_jobs. Between the
-- time that such a table held and the time that it will hold next lies the time of one table.
-- params: $1 now
-- returns: bucket
-- index: none
select b.bucket
from generate_series(0, 6) as c (class)
cross join lateral (
    select
        (c.class * 4
            + (floor(extract(epoch from $1::timestamptz))::bigint / (5 << 3 * c.class) + 3) % 4)::smallint as bucket
) as b
where pg_relation_size(to_regclass('pgdisque.retained_' || b.bucket)) > 0
