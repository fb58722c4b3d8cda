-- Registers this server and gives it the smallest free number.
-- params: $1 id, $2 addr, $3 port
-- returns: number
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
    started_at = now()
returning number
