-- Jobs that recur may be delivered only so often, too.
alter table pgdisque.schedule
    add column attempts integer,
    add column backoff integer,
    add column deadqueue bytea;
