-- Obstacles for a vacuum, made before the run of bench/soak: unused slots, a table whose vacuum
-- takes hours, and a prepared transaction.
select slot_name
from pg_create_logical_replication_slot('soak_logical', 'pgoutput');

select slot_name
from pg_create_physical_replication_slot('soak_physical', true);

create schema soak;

create table soak.held (n integer);

-- A row a page, and a tenth of a second for each page: the only autovacuum worker stays here.
create table soak.neighbour (
    n integer not null,
    filler text not null
) with (
    autovacuum_vacuum_threshold = 0,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_cost_delay = 100,
    autovacuum_vacuum_cost_limit = 1,
    autovacuum_analyze_threshold = 2000000000
);

alter table soak.neighbour alter column filler set storage plain;

insert into soak.neighbour (n, filler)
select n, repeat('x', 5000)
from generate_series(1, :pages) as n;

delete from soak.neighbour
where n % 2 = 0;

begin;

insert into soak.held (n)
values (1);

prepare transaction 'soak';

-- All that was written for this is on the disk before the first minute.
checkpoint;
