-- What EXPIRE does to a list ends when a job leaves the list.

set local search_path = pg_catalog, pg_temp;

-- When the job expires by its own TTL, where EXPIRE or PERSIST has changed expires_at; null: they have not.
alter table pgdisque.job
    add column own_expires_at timestamptz;
