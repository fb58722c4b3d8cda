-- Deletes the schema of a failed restore, and brings back the schema before.
do $$
begin
    drop schema if exists pgdisque cascade;
    if to_regnamespace('pgdisque_replaced') is not null then
        alter schema pgdisque_replaced rename to pgdisque;
    end if;
end
$$
