-- Registers this server. Gives it the smallest free number, and gives its run a number that no earlier run had.
-- A promoted standby may have lost the numbers of current runs. $4 moves the sequence behind the current run,
-- because otherwise a later run would get its number and its commit markers.
-- params: $1 id, $2 addr, $3 port, $4 run (of this server, or 0)
-- returns: number, run (a new number, for a run without a number)
insert into pgdisque.node (number, id, addr, port)
select
    (
        select min(f.number)
        from generate_series(1, 1023) as f (number)
        where not exists (select from pgdisque.node as n where n.number = f.number)
    ),
    $1::text, $2::text, $3::integer
on conflict (id) do update
set addr = excluded.addr,
    port = excluded.port,
    started_at = now(),
    seen_at = now(),
    left_at = null,
    leaving = false
returning
    number,
    case
        when nextval('pgdisque.node_run') > $4::bigint then currval('pgdisque.node_run')
        else setval('pgdisque.node_run', $4::bigint + 1)
    end as run
