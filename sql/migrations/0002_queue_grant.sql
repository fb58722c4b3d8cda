-- The rights of roles on queues, for the functions and views of sql/api. The server does not read them.

set local search_path = pg_catalog, pg_temp;

create table pgdisque.queue_grant (
    -- A name, not a reference: a dump is restored also where the role does not exist.
    role      text not null,
    -- In the pattern, * stands for any bytes and ? for one byte.
    pattern   text not null,
    -- The same as a pattern of LIKE.
    name_like bytea not null,
    can_read  boolean not null,
    can_write boolean not null,
    primary key (role, pattern),
    check (can_read or can_write)
);
