--! breaking
-- Several servers: when each was last seen, and whether it leaves or has signed off.

set local search_path = pg_catalog, pg_temp;

alter table pgdisque.node
    add column seen_at timestamptz not null default now(),
    add column left_at timestamptz,
    add column leaving boolean not null default false;

-- Room for heartbeats to stay on the page.
alter table pgdisque.node set (fillfactor = 50);
