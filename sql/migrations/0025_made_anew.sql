-- Checks, defaults and indexes may have been made while another schema stood before pg_catalog in the search_path.
-- Those that name functions or operators are made again.

set local search_path = pg_catalog, pg_temp;

alter table pgdisque.secret drop constraint secret_key_check;
alter table pgdisque.secret add constraint secret_key_check check (length(key) = 16);

alter table pgdisque.node
    drop constraint node_number_check,
    drop constraint node_id_check,
    alter column started_at set default now(),
    alter column seen_at set default now();
alter table pgdisque.node
    add constraint node_number_check check (number between 1 and 1023),
    add constraint node_id_check check (id ~ '^[0-9a-f]{40}$');

alter table pgdisque.queue
    drop constraint queue_pause_check,
    drop constraint queue_front_check,
    alter column created_at set default now();
alter table pgdisque.queue
    add constraint queue_pause_check check (pause between 0 and 3),
    add constraint queue_front_check check (front in (1, 2));

alter table pgdisque.job_group alter column used_at set default clock_timestamp();
alter table pgdisque.bucket alter column settled_at set default clock_timestamp();
alter table pgdisque.migration alter column applied_at set default now();

drop index pgdisque.queue_name, pgdisque.schedule_name;
create unique index queue_name on pgdisque.queue (sha256(name));
create unique index schedule_name on pgdisque.schedule (sha256(name));
