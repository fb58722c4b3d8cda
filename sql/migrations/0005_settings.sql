--! breaking
-- Settings of queues, by QCONFIG: a row for each that was set.

set local search_path = pg_catalog, pg_temp;

-- Without a foreign key, as everywhere: a queue that has settings is not removed.
create table pgdisque.queue_setting (
    queue_id integer not null,
    name     text not null,
    -- As clients write it; numbers are decimal.
    value    bytea not null,
    primary key (queue_id, name)
);
