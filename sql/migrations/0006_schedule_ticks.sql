-- Schedules: headers, unique keys and groups of their jobs, and what a tick does while the job before it is unfinished.
-- All columns are null for other schedules.

set local search_path = pg_catalog, pg_temp;

alter table pgdisque.schedule
    add column headers jsonb,
    add column unique_key bytea,
    add column group_key bytea,
    -- 1: the tick adds no job; 2: its job replaces the job before it.
    add column overlap smallint,
    -- With overlap: the job of the last tick.
    add column last_queue_id integer,
    add column last_id bigint;
