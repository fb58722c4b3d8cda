--! breaking
-- Limits that count for each group by itself: QCONFIG per-group.

set local search_path = pg_catalog, pg_temp;

-- One of the jobs that were let go is in rank and id, as ever; the others, while there are such, are here.
alter table pgdisque.job_group
    add column ranks smallint[],
    add column ids bigint[],
    -- How many might have been let go at that time, where there is a rate.
    add column tokens double precision,
    add column settled_at timestamptz,
    -- When the next one may be, while that is what others wait for.
    add column next_at timestamptz;
