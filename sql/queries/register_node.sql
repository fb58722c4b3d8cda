-- Registers this server, gives it the smallest free number, and its run one that no run before it had. A standby that was
-- promoted may have lost the numbers of runs that go on: with $4 it learns of them, or a later run would be taken for
-- one of those, and its flights for theirs.
-- params: $1 id, $2 addr, $3 port, $4 run (this server's, or 0)
-- returns: number, run (of one that has none)
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
